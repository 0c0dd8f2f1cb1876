import { Fault, assert } from '@penstock/kernel/result.ts'
import { AddressRefused } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { Settlement } from '../state.ts'
import type { Outcome, SettlementEffectContext, SettlementPorts } from './ports.ts'
import { readHighestTip } from './highest-tip.ts'

/** Nodes announce few addresses; this limits the attempts for a node that announces hundreds. */
const MAX_SOCKETS = 8

/** Checks before an attempt whether our own node reaches the buyer's node. */
export async function reachBuyer(
  { hold: { request, reach: reachRequest } }: Settlement,
  { ports }: SettlementEffectContext,
): Promise<Outcome<'RecordReach'>> {
  assert(request, 'a hold has terms')
  return { type: 'RecordReach', data: { attempt: reachRequest.asked, ...(await connectToBuyer(ports, request.destination)) } }
}

/** Timeout for one address; an address that times out counts as not reached. */
const CONNECT_TIMEOUT_MS = 10_000
const NODE_TIMEOUT_MS = 10_000

/**
 * Tries to connect to the buyer's node before the guard's decision. A node without a known address counts as not reached;
 * `connectToBuyer` counts it as reached.
 * @throws Fault if our own node does not answer
 */
export async function tryConnectingToBuyer(
  { lightning: { peers }, clock }: Pick<SettlementPorts, 'lightning'> & Pick<SettlementEffectContext['ports'], 'clock'>,
  { pubkey, sockets: given }: { readonly pubkey: string; readonly sockets: readonly string[] },
): Promise<{ readonly reached: boolean; readonly reason: string }> {
  if (await withTimeout(clock, NODE_TIMEOUT_MS, peers.isConnected(pubkey)))
    return { reached: true, reason: 'The node is connected to ours.' }
  const known = given.length > 0 ? given : (await withTimeout(clock, NODE_TIMEOUT_MS, peers.addresses(pubkey))).sockets
  const sockets = known.slice(0, MAX_SOCKETS)
  const tries = await Promise.all(
    sockets.map((socket) =>
      tryConnecting(socket, withTimeout(clock, CONNECT_TIMEOUT_MS, peers.connect(pubkey, socket)).catch(falseOnFault)),
    ),
  )
  const reached = tries.find(({ outcome }) => outcome === true)
  if (reached) return { reached: true, reason: `The node answers at ${reached.socket}.` }
  return { reached: false, reason: tries.length === 0 ? 'Our node knows no address of the node.' : explainUnreached(tries) }
}

/** A fault counts as not reached; the next call to our node shows whether our own node did not answer. */
function falseOnFault(error: unknown): false {
  if (error instanceof Fault) return false
  throw error
}

/** `outcome` is the message of the refusal if our node must not connect to the address. */
type ConnectAttempt = { readonly socket: string; readonly outcome: boolean | string }

async function tryConnecting(socket: string, connecting: Promise<boolean>): Promise<ConnectAttempt> {
  try {
    return { socket, outcome: await connecting }
  } catch (error) {
    if (error instanceof AddressRefused) return { socket, outcome: error.message }
    throw error
  }
}

/** Maximum length of the reason in a fact. */
const MAX_REASON_CHARACTERS = 1000

/** Explains why the buyer's node was not reached at these addresses. */
function explainUnreached(tries: readonly ConnectAttempt[]): string {
  const silent = tries.filter(({ outcome }) => outcome === false).map(({ socket }) => socket)
  const refused = tries.flatMap(({ outcome }) => (typeof outcome === 'string' ? [outcome] : []))
  const sentences = [
    ...(silent.length > 0 ? [`The node does not answer at ${silent.join(', ')}.`] : []),
    ...(refused.length > 0 ? [`Our node connects to public addresses only: ${refused.join('; ')}.`] : []),
  ]
  return sentences.join(' ').slice(0, MAX_REASON_CHARACTERS)
}

export type ReachOutcome = { readonly reached: boolean; readonly reason: string; readonly height: number }

/**
 * The time in which the buyer's node has to answer. With the 4 s for the name of its host it is shorter than the usual time for
 * the answer of a purchase. Otherwise purchases for silent nodes would look like a slow market.
 */
export const PURCHASE_REACH_TIMEOUT_MS = 5000

type Sleeper = Pick<SettlementEffectContext['ports']['clock'], 'sleep'>

/**
 * Tries the buyer's own addresses, or else its addresses from gossip. A node that is already connected counts as reached.
 * @param timeoutMs without it, our node decides when an address does not answer, so that a paid order does not fail by our delay
 */
export async function connectToBuyer(
  ports: Pick<SettlementEffectContext['ports'], 'lightning' | 'chain' | 'clock'>,
  { pubkey, sockets: given }: { readonly pubkey: string; readonly sockets: readonly string[] },
  timeoutMs?: number,
): Promise<ReachOutcome> {
  const { peers } = ports.lightning
  // This height decides whether enough blocks are left for another opening.
  const [{ height }, isConnected] = await Promise.all([readHighestTip(ports), peers.isConnected(pubkey)])
  if (isConnected) return { reached: true, reason: 'The node is connected to ours.', height }
  const sockets = (given.length > 0 ? given : (await peers.addresses(pubkey)).sockets).slice(0, MAX_SOCKETS)
  // An LSPS1 order contains no address, because the wallet itself connects to its sellers. So a missing address is no failure.
  if (sockets.length === 0) return { reached: true, reason: 'Our node knows no address of the node; its sellers may.', height }
  const tries = await tryUntilReached(sockets, (socket) => {
    const connecting = peers.connect(pubkey, socket)
    return timeoutMs === undefined ? connecting : falseAfter(ports.clock, timeoutMs, connecting)
  })
  const reached = tries.find(({ outcome }) => outcome === true)
  if (reached) return { reached: true, reason: `The node answers at ${reached.socket}.`, height }
  return { reached: false, reason: explainUnreached(tries), height }
}

/** Tries all addresses at once. @returns the attempts that have ended when the first succeeds, or all of them */
function tryUntilReached(
  sockets: readonly string[],
  connect: (socket: string) => Promise<boolean>,
): Promise<readonly ConnectAttempt[]> {
  return new Promise((resolve, reject) => {
    const ended = new Map<string, ConnectAttempt>()
    const distinct = [...new Set(sockets)]
    const end = (attempt: ConnectAttempt): void => {
      ended.set(attempt.socket, attempt)
      const isLast = attempt.outcome === true || ended.size === distinct.length
      if (isLast) resolve(distinct.flatMap((socket) => ended.get(socket) ?? []))
    }
    for (const socket of distinct) tryConnecting(socket, connect(socket)).then(end, reject)
  })
}

async function falseAfter(clock: Sleeper, ms: number, connecting: Promise<boolean>): Promise<boolean> {
  const answered = new AbortController()
  try {
    return await Promise.race([connecting, clock.sleep(ms, answered.signal).then(() => false)])
  } finally {
    answered.abort('answered')
  }
}
