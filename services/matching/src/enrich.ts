import type { MatchCommand } from '@penstock/contracts/matching.ts'
import type { Book, BookEntry } from '@penstock/market/book.ts'
import { type FundingFees, fundingFees, recordFees } from '@penstock/market/price.ts'
import { chargesForFunding } from '@penstock/market/rank.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Graph } from '@penstock/ports/lightning.ts'
import { linkedSellers, noteOpening } from '@penstock/ports/linked.ts'
import type { Basics } from '@penstock/runtime/basics.ts'
import type { MatchExtra } from './match.decide.ts'
import { searchFor } from './search.ts'
import { type SellerDecides, type SellerExtra, wrongAttestation } from './seller.ts'

export type MatchingPorts = { readonly chain: Pick<Chain, 'feeRate'>; readonly graph: Pick<Graph, 'between'> }
type About = { readonly id: string; readonly at: number; readonly ports: MatchingPorts & Basics }
type DataOf<C, Type> = C extends { readonly type: Type; readonly data: infer Data } ? Data : never

export const heartbeatKey = (pubkey: string): string => `seller-heartbeat/${pubkey}`
const attestedKey = (pubkey: string): string => `seller-attested/${pubkey}`

/**
 * A heartbeat that changes nothing is no fact: at one every ten seconds streams would grow without an end. It is kept
 * where all replicas look and where it may be forgotten, and only here, since a decision can't tell a heartbeat from
 * none. That it is the node's own and newer than the last is checked first, so that nobody else, and no repetition,
 * keeps a seller alive.
 */
export async function attest(data: DataOf<SellerDecides, 'Attest'>, { id, at, ports }: About): Promise<SellerExtra['Attest']> {
  const { limits, clock } = ports
  const previousAt = (await limits.lastSeen(attestedKey(id))) ?? null
  const extra = { node: id, previousAt }
  if (data.at !== previousAt && !wrongAttestation({ at, data: { ...data, ...extra } })) {
    await limits.touch(attestedKey(id), data.at)
    await limits.touch(heartbeatKey(id), clock.now())
  }
  return extra
}

export const lapseSilence = async (_: object, { id, ports }: About): Promise<SellerExtra['LapseSilence']> => ({
  lastSeenAt: (await ports.limits.lastSeen(heartbeatKey(id))) ?? null,
  liveMs: ports.config.liveSeconds * 1000,
})

export const findSeller =
  (book: Book) =>
  async (data: DataOf<MatchCommand, 'FindSeller'>, { at, ports }: About): Promise<MatchExtra['FindSeller']> => {
    const entries = book.entries(at, ports.config.railsScore)
    const fees = await feesFor(entries, ports)
    const sellers = entries.map(({ seller }) => seller.pubkey)
    const linked = await linkedSellers(ports, data.need, sellers)
    const candidates = searchFor(data, entries, { settings: ports.config, fees }, linked)
    await noteOpening(ports, data.need, candidates[0]?.sellerPubkey)
    return { candidates, fundingFees: recordFees(fees) }
  }

/** Asked for only where an offer charges for its funding; where the chain can't tell, those offers are passed over. */
async function feesFor(entries: readonly BookEntry[], { chain, log }: MatchingPorts & Basics): Promise<FundingFees | null> {
  if (!chargesForFunding(entries)) return null
  try {
    return await fundingFees((blocks) => chain.feeRate(blocks))
  } catch (error) {
    log.warn({ error: String(error) }, 'no fee rate: offers that charge for their funding are passed over')
    return null
  }
}
