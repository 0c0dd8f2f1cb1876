import { satToMsat } from '@penstock/kernel/money.ts'
import { AddressRefused, type Lightning, OpenRefused, type OwnChannel } from '@penstock/ports/lightning.ts'
import { type AgentContext, recordStep } from './context.ts'
import type { SaleState } from './sale.ts'

/** Prepares the channel of a sale. The intent is in the journal before the request to the node. */
export async function prepareChannel(context: AgentContext, sale: SaleState): Promise<void> {
  const { peer, sockets, sizeSat, isPrivate } = sale.terms
  // While the outcome of another opening to this peer is unknown, a new opening could be mistaken for it.
  if (isOpeningUnclear(context, peer)) return
  context.preparing.set(sale.orderId, peer)
  try {
    if (!(await connectToPeer(context.lightning, peer, sockets)))
      return void recordStep(context, sale, { type: 'SetBack', reason: "the buyer's node cannot be reached", isPeerAway: true })
    const feeRate = Math.min((await context.feeRate?.(6)) ?? context.fees.startRate, context.fees.maxRate)
    recordStep(context, sale, {
      type: 'OpeningBegun',
      pendingBefore: (await listPendingChannels(context, peer)).map(({ outpoint }) => outpoint),
    })
    const prepared = await context.lightning.channels.prepare({
      peer,
      capacitySat: BigInt(sizeSat),
      isPrivate,
      feeRateSatPerVbyte: feeRate,
      baseFeeMsat: satToMsat(context.terms.baseFeeCapSat),
      feeRatePpm: context.terms.feeRateCapPpm,
    })
    recordStep(context, sale, { type: 'Prepared', ...prepared, feeRate })
  } catch (error) {
    if (!(error instanceof OpenRefused)) throw error // `reconcile` finds out whether a channel was prepared
    const isPeerAway = error.reason === 'peer-offline' || error.reason === 'peer-refused'
    recordStep(context, sale, { type: 'SetBack', reason: `${error.reason}: ${error.message}`, ...(isPeerAway && { isPeerAway }) })
  } finally {
    context.preparing.delete(sale.orderId)
  }
}

/**
 * Abandons the funding of an interrupted opening: the agent did not record it, so it cannot be submitted or published. Only a
 * pending channel that fits this sale and belongs to no other is abandoned, because the node's owner may open channels too.
 */
export async function reconcile(context: AgentContext, sale: SaleState): Promise<void> {
  const { opening, terms } = sale
  if (opening.state !== 'begun' || [...context.preparing.values()].includes(terms.peer)) return
  for (const { outpoint, capacitySat, isPrepared } of await listPendingChannels(context, terms.peer)) {
    const isOfSale = isPrepared && capacitySat === BigInt(terms.sizeSat) && !opening.pendingBefore.includes(outpoint)
    if (isOfSale && !context.journal.findFunding(outpoint)) await context.lightning.channels.abandon({ outpoint })
  }
  recordStep(context, sale, { type: 'SetBack', reason: 'the opening was interrupted' })
}

const isOpeningUnclear = ({ journal, preparing }: AgentContext, peer: string): boolean =>
  [...journal.sales.values()].some(
    ({ orderId, terms, opening }) => opening.state === 'begun' && terms.peer === peer && !preparing.has(orderId),
  )

const listPendingChannels = async ({ lightning }: AgentContext, peer: string): Promise<readonly OwnChannel[]> =>
  (await lightning.channels.list()).filter(
    (channel) => channel.openedByUs && channel.peer === peer && channel.state === 'pending',
  )

/** Tries the sockets of the order first, and then the other sockets that gossip contains. */
async function connectToPeer({ peers }: Lightning, pubkey: string, sockets: readonly string[]): Promise<boolean> {
  if (await peers.isConnected(pubkey)) return true
  for (const socket of sockets) if (await tryConnect(peers, pubkey, socket)) return true
  const known = (await peers.addresses(pubkey)).sockets.filter((socket) => !sockets.includes(socket))
  for (const socket of known) if (await tryConnect(peers, pubkey, socket)) return true
  return false
}

/** @returns whether the node connected; false too if the node may not connect to the address, so that the next is tried */
async function tryConnect(peers: Lightning['peers'], pubkey: string, socket: string): Promise<boolean> {
  try {
    return await peers.connect(pubkey, socket)
  } catch (error) {
    if (error instanceof AddressRefused) return false
    throw error
  }
}
