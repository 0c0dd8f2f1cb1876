import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Fault, must } from '@penstock/kernel/result.ts'
import { AddressRefused } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import type { Settlement } from '../state.ts'
import type { Context, SettlementPorts } from './ports.ts'
import { presentTip } from './present-height.ts'

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

/** So long a single address may take; a time-out means that it was not reached. */
const CONNECT_TIMEOUT_MS = 10_000
const NODE_TIMEOUT_MS = 10_000

/**
 * One try before the decision over the money. Unlike before an attempt, a node without a known address is not reached.
 * @throws Fault where our own node does not answer
 */
export async function tryBuyer(
  { lightning: { peers }, clock }: Pick<SettlementPorts, 'lightning'> & Pick<Context['ports'], 'clock'>,
  { pubkey, sockets: given }: { readonly pubkey: string; readonly sockets: readonly string[] },
): Promise<{ readonly reached: boolean; readonly reason: string }> {
  if (await within(clock, NODE_TIMEOUT_MS, peers.isConnected(pubkey)))
    return { reached: true, reason: 'The node is connected to ours.' }
  const known = given.length > 0 ? given : (await within(clock, NODE_TIMEOUT_MS, peers.addresses(pubkey))).sockets
  const sockets = known.slice(0, MOST_SOCKETS)
  const tries = await Promise.all(
    sockets.map((socket) => tried(socket, within(clock, CONNECT_TIMEOUT_MS, peers.connect(pubkey, socket)).catch(notInTime))),
  )
  const reached = tries.find(({ answers }) => answers === true)
  if (reached) return { reached: true, reason: `The node answers at ${reached.socket}.` }
  return { reached: false, reason: tries.length === 0 ? 'Our node knows no address of the node.' : silence(tries) }
}

/** The next call to our node tells whether it was ours that did not answer. */
function notInTime(error: unknown): false {
  if (error instanceof Fault) return false
  throw error
}

/** `answers` is a part of a sentence where our node may not connect to that address. */
type Try = { readonly socket: string; readonly answers: boolean | string }

async function tried(socket: string, connecting: Promise<boolean>): Promise<Try> {
  try {
    return { socket, answers: await connecting }
  } catch (error) {
    if (error instanceof AddressRefused) return { socket, answers: error.message }
    throw error
  }
}

/** A fact's sentence has no room for more. */
const MOST_CHARACTERS = 1000

/** Why nobody was reached at these addresses. */
function silence(tries: readonly Try[]): string {
  const silent = tries.filter(({ answers }) => answers === false).map(({ socket }) => socket)
  const refused = tries.flatMap(({ answers }) => (typeof answers === 'string' ? [answers] : []))
  const sentences = [
    ...(silent.length > 0 ? [`The node does not answer at ${silent.join(', ')}.`] : []),
    ...(refused.length > 0 ? [`Our node connects to public addresses only: ${refused.join('; ')}.`] : []),
  ]
  return sentences.join(' ').slice(0, MOST_CHARACTERS)
}

export type Look = { readonly reached: boolean; readonly reason: string; readonly height: number }

/** Over the addresses that the buyer gave, else those that gossip knows. A node that is connected already counts. */
export async function lookForBuyer(
  ports: Pick<Context['ports'], 'lightning' | 'chain' | 'clock'>,
  { pubkey, sockets: given }: { readonly pubkey: string; readonly sockets: readonly string[] },
): Promise<Look> {
  const { peers } = ports.lightning
  // Whether too few blocks are left for another opening is decided by this height.
  const [{ height }, isConnected] = await Promise.all([presentTip(ports), peers.isConnected(pubkey)])
  if (isConnected) return { reached: true, reason: 'The node is connected to ours.', height }
  const sockets = given.length > 0 ? given : (await peers.addresses(pubkey)).sockets
  const tries: Try[] = []
  for (const socket of sockets.slice(0, MOST_SOCKETS)) {
    const now = await tried(socket, peers.connect(pubkey, socket))
    if (now.answers === true) return { reached: true, reason: `The node answers at ${socket}.`, height }
    tries.push(now)
  }
  // LSPS1 names no address: the wallet connects to the sellers by itself, and whether it did shows when one opens.
  if (sockets.length === 0) return { reached: true, reason: 'Our node knows no address of the node; its sellers may.', height }
  return { reached: false, reason: silence(tries), height }
}
