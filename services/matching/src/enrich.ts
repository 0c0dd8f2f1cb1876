import type { MatchCommand } from '@penstock/contracts/matching.ts'
import { asLive, type OrderBook, type BookEntry } from '@penstock/market/order-book.ts'
import { type FundingFeesByPriority, estimateFundingFees, serialiseFees } from '@penstock/market/price.ts'
import { hasFundingCharge } from '@penstock/market/rank.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Graph } from '@penstock/ports/lightning.ts'
import { findSellersWithChannel, recordRequestedChannel } from '@penstock/market/existing-channels.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { MatchEnrichment } from './match.decide.ts'
import { searchFor } from './search.ts'
import { type EnrichedSellerCommand, type SellerEnrichment, checkFundsAttestation } from './seller.ts'

export type MatchingPorts = { readonly chain: Pick<Chain, 'feeRate'>; readonly graph: Pick<Graph, 'between'> }
type EnrichContext = { readonly id: string; readonly at: number; readonly ports: MatchingPorts & BasePorts }
type CommandData<C, Type> = C extends { readonly type: Type; readonly data: infer Data } ? Data : never

export const heartbeatKey = (pubkey: string): string => `seller-heartbeat/${pubkey}`
const SILENCE_WINDOWS = 2
const attestationKey = (pubkey: string): string => `seller-attested/${pubkey}`

/**
 * An agent attests every ten seconds. A fact for each heartbeat would let streams grow without limit, so a heartbeat without a
 * change adds no fact. Enrichment stores its time in the shared counters, which all replicas read and which may lose it.
 * Signature and time are checked first: neither another party nor a repeated message can keep a seller live. A late heartbeat
 * counts for a whole window, so that sellers stay live while commands wait. It must have been signed within the last minute.
 */
export const enrichAttest =
  (book: OrderBook) =>
  async (
    data: CommandData<EnrichedSellerCommand, 'Attest'>,
    { id, ports }: EnrichContext,
  ): Promise<SellerEnrichment['Attest']> => {
    const { limits, clock } = ports
    const receivedAt = clock.now()
    const previousAt = (await limits.lastSeen(attestationKey(id))) ?? null
    const extra = { node: id, previousAt, isAwaited: book.awaitsAttestation(id, data.at), receivedAt }
    if (data.at !== previousAt && !checkFundsAttestation({ ...data, ...extra })) {
      await limits.touch(attestationKey(id), data.at)
      await limits.touch(heartbeatKey(id), receivedAt)
    }
    return extra
  }

export const enrichLapseSilence = async (_: object, { id, ports }: EnrichContext): Promise<SellerEnrichment['LapseSilence']> => ({
  lastSeenAt: (await ports.limits.lastSeen(heartbeatKey(id))) ?? null,
  liveMs: ports.config.liveSeconds * 1000,
})

/**
 * After an outage of the bus all sellers are silent until their next attestations. So a search waits for a silent seller that
 * could serve: one window for the delay of the command, and one for the attestation.
 * @throws Fault while it waits
 */
export const enrichFindSeller =
  (book: OrderBook) =>
  async (data: CommandData<MatchCommand, 'FindSeller'>, { at, ports }: EnrichContext): Promise<MatchEnrichment['FindSeller']> => {
    const entries = book.entries(at, ports.config.railsScore)
    const fees = await readFundingFees(entries, ports)
    const sellers = entries.map(({ seller }) => seller.pubkey)
    const connectedSellers = await findSellersWithChannel(ports, data.need, sellers)
    const search = (offers: readonly BookEntry[]) => searchFor(data, offers, { settings: ports.config, fees }, connectedSellers)
    const candidates = search(entries)
    const waitsUntil = at + SILENCE_WINDOWS * ports.config.liveSeconds * 1000
    if (candidates.length === 0 && ports.clock.now() < waitsUntil)
      if (search(entries.map((entry) => asLive(entry, ports.config.railsScore))).length > 0)
        throw new Fault('each seller that could serve this order is silent')
    await recordRequestedChannel(ports, data.need, candidates[0]?.sellerPubkey)
    return { candidates, fundingFees: serialiseFees(fees) }
  }

/** Reads the fees only if an offer charges for its funding. Without an estimate, such offers are skipped. */
async function readFundingFees(
  entries: readonly BookEntry[],
  { chain, log }: MatchingPorts & BasePorts,
): Promise<FundingFeesByPriority | null> {
  if (!hasFundingCharge(entries)) return null
  try {
    return await estimateFundingFees((blocks) => chain.feeRate(blocks))
  } catch (error) {
    log.warn({ error: String(error) }, 'no fee rate; skipping offers that charge for their funding')
    return null
  }
}
