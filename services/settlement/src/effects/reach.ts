import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { must } from '@penstock/kernel/result.ts'
import type { Settlement } from '../state.ts'
import type { Context, SettlementPorts } from './ports.ts'

/** Nodes announce few addresses; whoever announces hundreds does not get as many tries. */
const MOST_SOCKETS = 8

/** Whether our own node reaches the buyer's before an attempt. */
export async function reach(
  { hold: { request, reach: wish } }: Settlement,
  { ports }: Context,
): Promise<Wanted<SettlementCommand>> {
  must(request, 'a hold has terms')
  return { type: 'RecordReach', data: { attempt: wish.asked, ...(await lookForBuyer(ports, request.destination)) } }
}

export type Look = { readonly reached: boolean; readonly reason: string; readonly height: number }

/** Over the addresses that the buyer gave, else those that gossip knows. A node that is connected already counts. */
export async function lookForBuyer(
  { lightning: { peers }, chain }: Pick<SettlementPorts, 'lightning' | 'chain'>,
  { pubkey, sockets: given }: { readonly pubkey: string; readonly sockets: readonly string[] },
): Promise<Look> {
  const [{ height }, isConnected] = await Promise.all([chain.tip(), peers.isConnected(pubkey)])
  if (isConnected) return { reached: true, reason: 'The node is connected to ours.', height }
  const sockets = given.length > 0 ? given : (await peers.addresses(pubkey)).sockets
  for (const socket of sockets.slice(0, MOST_SOCKETS)) {
    if (await peers.connect(pubkey, socket)) return { reached: true, reason: `The node answers at ${socket}.`, height }
  }
  // LSPS1 names no address: the wallet connects to the sellers by itself, and whether it did shows when one opens.
  if (sockets.length === 0) return { reached: true, reason: 'Our node knows no address of the node; its sellers may.', height }
  return { reached: false, reason: `The node does not answer at ${sockets.slice(0, MOST_SOCKETS).join(', ')}.`, height }
}
