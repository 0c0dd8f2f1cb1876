import type { Invoice } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { LRUCache } from 'lru-cache'
import type { Settlement } from '../../state.ts'
import { type SettlementJobContext, listUnfinishedOrders } from '../stream-access.ts'
import { type PeerSlots, newPeerSlots } from './peer-slots.ts'

/** Far more than the payments that can be held at once, so that hashes of recently ended orders stay known. */
const MAX_REMEMBERED_HASHES = 4096
const LIST_TIMEOUT_MS = 10_000

/** State of the last rounds of the guard, for the metrics; every replica reports the same. */
export type GuardSnapshot = {
  /** Orders that could not be read in the last round keep their last known state. */
  readonly orders: ReadonlyMap<string, Settlement>
  readonly height: number
  /** Pubkey of the last node that answered; a missing value means that no node has answered yet. */
  readonly node?: string | undefined
  /** Number of orders that could not be read in the last round. */
  readonly unread: number
  /** When the last round without a failure ended; null before the first. */
  readonly at: number | null
}

/** State that the guard's two jobs and the invoice watch share. */
export type GuardState = {
  readonly slots: PeerSlots
  /** Orders whose invoice this process created, because the list of unfinished streams may lag behind. */
  readonly issuedHere: Set<string>
  /** The last list of unfinished streams that could be read. */
  listedOrders: readonly string[]
  /** Orders by the payment hash of their hold, from their own streams. */
  readonly orderByHash: { get(hash: string): string | undefined; set(hash: string, orderId: string): void }
  /** Hashes of held payments that belong to no known order, each logged once. */
  readonly unknownHolds: Set<string>
  /** Orders whose payout waits for an operator's decision, each logged once. */
  readonly undecided: Set<string>
  /** The orders at another node, with the connected node, as they were last logged; empty if there are none. */
  loggedOnOtherNode: string
  /** By order: the height at which a round first found the last height reached, and the time by the monotonic clock. */
  readonly lastHeightSeen: Map<string, { readonly height: number; readonly at: number }>
  /** State for the metrics; missing before the first round. */
  readonly snapshot: { last?: GuardSnapshot }
}

export const newGuardState = (): GuardState => ({
  slots: newPeerSlots(),
  issuedHere: new Set(),
  listedOrders: [],
  orderByHash: new LRUCache<string, string>({ max: MAX_REMEMBERED_HASHES }),
  unknownHolds: new Set(),
  undecided: new Set(),
  loggedOnOtherNode: '',
  lastHeightSeen: new Map(),
  snapshot: {},
})

/** Stores which order has a payment hash. Only the order's own stream contains its payment hash. */
export function rememberPaymentHash({ orderByHash }: GuardState, orderId: string, { hold }: Settlement): void {
  if (hold.request) orderByHash.set(hold.request.paymentHash, orderId)
}

/** @param states the states that this round has read; the metrics use the last known state of all other orders */
export function updateSnapshot(
  { snapshot }: GuardState,
  {
    orders,
    states,
    height,
    node,
  }: Pick<GuardSnapshot, 'height' | 'node'> & { orders: readonly string[]; states: GuardSnapshot['orders'] },
): void {
  const shown = new Map<string, Settlement>()
  for (const orderId of orders) {
    const state = states.get(orderId) ?? snapshot.last?.orders.get(orderId)
    if (state) shown.set(orderId, state)
  }
  const known = node ?? snapshot.last?.node
  snapshot.last = { orders: shown, height, node: known, unread: orders.length - states.size, at: snapshot.last?.at ?? null }
}

/** Records the end of a round without a failure. */
export function completeRound({ snapshot }: GuardState, at: number): void {
  if (snapshot.last) snapshot.last = { ...snapshot.last, at }
}

/**
 * Reads the list of unfinished orders. If this fails, the guard continues with the last list.
 * @returns whether the list was read again
 */
export async function refreshListedOrders(context: SettlementJobContext, guardState: GuardState): Promise<boolean> {
  const { clock, log } = context.ports
  try {
    guardState.listedOrders = await withTimeout(clock, LIST_TIMEOUT_MS, listUnfinishedOrders(context))
    return true
  } catch (error) {
    log.error(
      { known: guardState.listedOrders.length, reason: String(error) },
      'guard: listing unfinished holds failed; continuing with the known ones',
    )
    return false
  }
}

/** Orders whose payment may need a cancellation: unfinished streams, invoices of this process, and payments at the node. */
export function ordersToGuard(guardState: GuardState, held: ReadonlyMap<string, Invoice> | undefined): readonly string[] {
  const heldOrders = [...(held?.keys() ?? [])].flatMap((hash) => guardState.orderByHash.get(hash) ?? [])
  return [...new Set([...guardState.listedOrders, ...guardState.issuedHere, ...heldOrders])]
}

/** @returns held payments of no known order, each once; they may belong to other users of the node, and are not changed */
export function findUnknownHolds(
  { orderByHash, unknownHolds }: GuardState,
  held: ReadonlyMap<string, Invoice> | undefined,
): readonly Invoice[] {
  if (!held) return []
  for (const hash of unknownHolds) if (!held.has(hash)) unknownHolds.delete(hash)
  return [...held.values()].filter(({ paymentHash }) => {
    if (orderByHash.get(paymentHash) !== undefined || unknownHolds.has(paymentHash)) return false
    unknownHolds.add(paymentHash)
    return true
  })
}
