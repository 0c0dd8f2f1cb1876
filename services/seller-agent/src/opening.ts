import { satToMsat } from '@penstock/kernel/money.ts'
import { AddressRefused, type Lightning, OpenRefused, type OwnChannel } from '@penstock/ports/lightning.ts'
import { type Desk, record } from './desk.ts'
import type { Sale } from './sale.ts'

/** Prepares the channel of a sale. The intent is in the journal before the node is asked. */
export async function open(desk: Desk, sale: Sale): Promise<void> {
  const { peer, sockets, sizeSat, isPrivate } = sale.terms
  // Until it is known what became of another opening to this peer, a new one could be taken for it.
  if (unclear(desk, peer)) return
  desk.preparing.set(sale.orderId, peer)
  try {
    if (!(await connect(desk.lightning, peer, sockets)))
      return void record(desk, sale, { type: 'SetBack', reason: "the buyer's node cannot be reached", isPeerAway: true })
    const feeRate = Math.min((await desk.feeRate?.(6)) ?? desk.fees.startRate, desk.fees.maxRate)
    record(desk, sale, { type: 'OpeningBegun', pendingBefore: (await pendingTo(desk, peer)).map(({ outpoint }) => outpoint) })
    const prepared = await desk.lightning.channels.prepare({
      peer,
      capacitySat: BigInt(sizeSat),
      isPrivate,
      feeRateSatPerVbyte: feeRate,
      baseFeeMsat: satToMsat(desk.terms.baseFeeCapSat),
      feeRatePpm: desk.terms.feeRateCapPpm,
    })
    record(desk, sale, { type: 'Prepared', ...prepared, feeRate })
  } catch (error) {
    if (!(error instanceof OpenRefused)) throw error // whether something was prepared is found out by `reconcile`
    const isPeerAway = error.reason === 'peer-offline' || error.reason === 'peer-refused'
    record(desk, sale, { type: 'SetBack', reason: `${error.reason}: ${error.message}`, ...(isPeerAway && { isPeerAway }) })
  } finally {
    desk.preparing.delete(sale.orderId)
  }
}

/**
 * An opening that was broken off: what the node prepared meanwhile was never named, and its handle is lost, so it is
 * given up. Only what fits this sale and belongs to no other is touched; the owner of the node may open channels too.
 */
export async function reconcile(desk: Desk, sale: Sale): Promise<void> {
  const { opening, terms } = sale
  if (opening.state !== 'begun' || [...desk.preparing.values()].includes(terms.peer)) return
  for (const { outpoint, capacitySat, isPrepared } of await pendingTo(desk, terms.peer)) {
    const fits = isPrepared && capacitySat === BigInt(terms.sizeSat) && !opening.pendingBefore.includes(outpoint)
    if (fits && !desk.journal.fundingOf(outpoint)) await desk.lightning.channels.abandon({ outpoint })
  }
  record(desk, sale, { type: 'SetBack', reason: 'the opening was broken off' })
}

const unclear = ({ journal, preparing }: Desk, peer: string): boolean =>
  [...journal.sales.values()].some(
    ({ orderId, terms, opening }) => opening.state === 'begun' && terms.peer === peer && !preparing.has(orderId),
  )

const pendingTo = async ({ lightning }: Desk, peer: string): Promise<readonly OwnChannel[]> =>
  (await lightning.channels.list()).filter(
    (channel) => channel.openedByUs && channel.peer === peer && channel.state === 'pending',
  )

/** By the sockets of the order first, then by those that gossip knows. */
async function connect({ peers }: Lightning, pubkey: string, sockets: readonly string[]): Promise<boolean> {
  if (await peers.isConnected(pubkey)) return true
  for (const socket of sockets) if (await answers(peers, pubkey, socket)) return true
  const known = (await peers.addresses(pubkey)).sockets.filter((socket) => !sockets.includes(socket))
  for (const socket of known) if (await answers(peers, pubkey, socket)) return true
  return false
}

/** An address that the node may not connect to is one at which nobody answers: the next one is tried. */
async function answers(peers: Lightning['peers'], pubkey: string, socket: string): Promise<boolean> {
  try {
    return await peers.connect(pubkey, socket)
  } catch (error) {
    if (error instanceof AddressRefused) return false
    throw error
  }
}
