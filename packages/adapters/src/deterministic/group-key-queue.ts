import type { BusMessage, Subscription } from '@penstock/ports/bus.ts'
import type { SimulatedProcess } from './faults/crash-injection.ts'

/**
 * The state of a key. 'waiting': for a free handler of its owner. 'in-hand': its message or answer is in transit, or a handler
 * runs. 'resting': until the next attempt after a failure.
 */
type KeyQueueState = 'idle' | 'waiting' | 'in-hand' | 'resting'

/**
 * The messages of one key for one group, from the first uncommitted message on. `epoch` grows with each delivery and each change
 * of the owner, so that a stale callback can recognise itself.
 */
export type GroupKeyQueue = {
  readonly key: string
  readonly messages: BusMessage[]
  /** Index of the next message. Earlier messages are handled, but a crash of the consumer delivers them again. */
  next: number
  /** Number of committed messages, which `messages` no longer contains. */
  committed: number
  owner: BusConsumer | undefined
  /** The handler pool in which the key runs or waits; undefined before its first delivery. */
  pool: HandlerPool | undefined
  state: KeyQueueState
  epoch: number
  attempts: number
  /** Position up to which consumers were notified of messages behind a parked one, counted like `committed`. */
  notified: number
  parked: { readonly reason: string; readonly since: number; readonly replaying: boolean } | undefined
}

/** `running` counts the keys that handlers work on. `waiting` lists the keys that wait for a free handler. */
type HandlerPool = { running: number; waiting: GroupKeyQueue[] }

/** One subscription of one process. `yields` selects the low-priority messages, which have a handler pool of their own. */
export type BusConsumer = {
  readonly process: SimulatedProcess
  readonly handle: Subscription['handle']
  readonly aside: Subscription['onSetAside']
  readonly concurrency: number
  readonly yields: Subscription['isLowPriority']
  readonly retryMs: { readonly first: number; readonly last: number }
  readonly regularPool: HandlerPool
  readonly yieldingPool: HandlerPool
  /** Set while the consumer is leaving. Resolves when no handler of the consumer runs. */
  leaving: PromiseWithResolvers<void> | undefined
  unsubscribe: () => void
}

export const createGroupKeyQueue = (key: string): GroupKeyQueue => ({
  key,
  messages: [],
  next: 0,
  committed: 0,
  owner: undefined,
  pool: undefined,
  state: 'idle',
  epoch: 0,
  attempts: 0,
  notified: 0,
  parked: undefined,
})

export const isDeliverable = ({ state, messages, next, parked }: GroupKeyQueue): boolean =>
  state === 'idle' && next < messages.length && (!parked || parked.replaying)

/** Number of messages of the key that were ever handled, committed or not. */
export const doneCountOf = ({ committed, next }: GroupKeyQueue): number => committed + next

/** Commits the first `done` messages of the key, counted like `doneCountOf`. They are never delivered again. */
export function commitDone(keyQueue: GroupKeyQueue, done: number): void {
  const count = Math.min(done, doneCountOf(keyQueue)) - keyQueue.committed
  if (count <= 0) return
  keyQueue.messages.splice(0, count)
  keyQueue.next -= count
  keyQueue.committed += count
}

/** Takes the key away from its owner. */
export function clearOwner(keyQueue: GroupKeyQueue): void {
  keyQueue.state = 'idle'
  keyQueue.epoch++
  keyQueue.owner = undefined
}

export const createHandlerPool = (): HandlerPool => ({ running: 0, waiting: [] })

/** The pool in which a consumer handles a message. */
export const handlerPoolFor = (
  { yields, regularPool, yieldingPool }: BusConsumer,
  message: BusMessage | undefined,
): HandlerPool => (message && yields?.(message) === true ? yieldingPool : regularPool)

export const isBusy = ({ regularPool, yieldingPool }: BusConsumer): boolean => regularPool.running + yieldingPool.running > 0
