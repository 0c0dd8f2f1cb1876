import type { Invoice } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { lru } from '@penstock/runtime/lru.ts'
import type { Settlement } from '../state.ts'
import { type Jobs, unfinishedOrders } from './record.ts'
import { type Slots, slots } from './slots.ts'

/** Far more than can be held at once: also an order that was finished a while ago is found by its hash. */
const REMEMBERED = 4096
const LIST_TIMEOUT_MS = 10_000

/** What the guard has seen, for the metrics; every replica sees the same. */
export type Sight = {
  /** Those that could not be read in the last round are as they were when they last could. */
  readonly orders: ReadonlyMap<string, Settlement>
  readonly height: number
  /** The node that was connected when one last answered. */
  readonly node?: string | undefined
  /** How many could not be read in the last round. */
  readonly unread: number
  /** When a round last ended in which nothing failed; null before the first. */
  readonly at: number | null
}

/** What the guard's two jobs and the watch have in common. */
export type Custody = {
  readonly slots: Slots
  /** Orders whose invoice this process made: the list of unfinished streams may be some moments behind. */
  readonly made: Set<string>
  /** The last list of unfinished streams that could be read. */
  listed: readonly string[]
  /** Orders by the payment hash of their hold, from their own streams. */
  readonly byHash: { get(hash: string): string | undefined; set(hash: string, orderId: string): void }
  /** Payments that the node holds for somebody else, each told once. */
  readonly strangers: Set<string>
  /** Orders whose payout waits for an operator's decision, each logged once. */
  readonly undecided: Set<string>
  /** The orders at another node, with the connected one, as the log last named them; empty where it has to name none. */
  stranded: string
  /** When a hold's last height was first seen to have come, by the monotonic clock, and at which height. */
  readonly lastLooks: Map<string, { readonly height: number; readonly at: number }>
  /** What the metrics show. */
  readonly sight: { last?: Sight }
}

export const custody = (): Custody => ({
  slots: slots(),
  made: new Set(),
  listed: [],
  byHash: lru<string, string>(REMEMBERED),
  strangers: new Set(),
  undecided: new Set(),
  stranded: '',
  lastLooks: new Map(),
  sight: {},
})

/** The order of a hash is known from its own stream alone: nobody but us can derive it. */
export function remember({ byHash }: Custody, orderId: string, { hold }: Settlement): void {
  if (hold.request) byHash.set(hold.request.paymentHash, orderId)
}

/** @param seen the states of this round; the metrics must not forget a hold because its stream cannot be read */
export function noteSight(
  { sight }: Custody,
  { orders, seen, height, node }: Pick<Sight, 'height' | 'node'> & { orders: readonly string[]; seen: Sight['orders'] },
): void {
  const shown = new Map<string, Settlement>()
  for (const orderId of orders) {
    const state = seen.get(orderId) ?? sight.last?.orders.get(orderId)
    if (state) shown.set(orderId, state)
  }
  const known = node ?? sight.last?.node
  sight.last = { orders: shown, height, node: known, unread: orders.length - seen.size, at: sight.last?.at ?? null }
}

/** A round that left nothing out is at its end. */
export function noteRound({ sight }: Custody, at: number): void {
  if (sight.last) sight.last = { ...sight.last, at }
}

/**
 * Without a list the guard goes on with the last one: the node and the streams are enough to keep what is held.
 * @returns whether it is a new one
 */
export async function listAnew(context: Jobs, custody: Custody): Promise<boolean> {
  const { clock, log } = context.ports
  try {
    custody.listed = await within(clock, LIST_TIMEOUT_MS, unfinishedOrders(context))
    return true
  } catch (error) {
    log.error(
      { known: custody.listed.length, reason: String(error) },
      'the unfinished holds cannot be listed; the guard goes on with those it knows',
    )
    return false
  }
}

/** Whose money may be ours to give back: the unfinished streams, what was made here, and every payment that the node holds. */
export function ordersToGuard(custody: Custody, held: ReadonlyMap<string, Invoice> | undefined): readonly string[] {
  const ofHeld = [...(held?.keys() ?? [])].flatMap((hash) => custody.byHash.get(hash) ?? [])
  return [...new Set([...custody.listed, ...custody.made, ...ofHeld])]
}

/** @returns held payments of no order that we know, each once: they may be somebody else's at the same node, and are left alone */
export function notOurs({ byHash, strangers }: Custody, held: ReadonlyMap<string, Invoice> | undefined): readonly Invoice[] {
  if (!held) return []
  for (const hash of strangers) if (!held.has(hash)) strangers.delete(hash)
  return [...held.values()].filter(({ paymentHash }) => {
    if (byHash.get(paymentHash) !== undefined || strangers.has(paymentHash)) return false
    strangers.add(paymentHash)
    return true
  })
}
