import type { BusMessage, Subscription } from '@penstock/ports/bus.ts'
import type { Mortal } from './mortal.ts'

/** What a key is doing. 'waiting': for a free hand of its owner. 'in-hand': on its way, being handled, or its answer is. */
type LaneState = 'idle' | 'waiting' | 'in-hand' | 'resting'

/**
 * The messages of one key for one group, from the first that is not kept as done. `turn` grows whenever the lane changes
 * hands, so that what was set off before finds itself out of date.
 */
export type Lane = {
  readonly key: string
  readonly queue: BusMessage[]
  /** Index of the next to be handled; what lies before it is done, and comes again if its handler dies. */
  next: number
  /** How many were kept as done before the queue begins. */
  kept: number
  owner: Member | undefined
  state: LaneState
  turn: number
  tries: number
  /** Up to where members were told of what was set aside, counted as in `kept`. */
  told: number
  parked: { readonly reason: string; readonly since: number; readonly replaying: boolean } | undefined
}

/** One subscription of one process. `line`: keys that wait until it has a free hand. */
export type Member = {
  readonly process: Mortal
  readonly handle: Subscription['handle']
  readonly aside: Subscription['aside']
  readonly concurrency: number
  readonly retryMs: { readonly first: number; readonly last: number }
  running: number
  line: Lane[]
  /** Set while it is leaving; resolves when it has nothing in hand. */
  leaving: PromiseWithResolvers<void> | undefined
  forget: () => void
}

export const newLane = (key: string): Lane => ({
  key,
  queue: [],
  next: 0,
  kept: 0,
  owner: undefined,
  state: 'idle',
  turn: 0,
  tries: 0,
  told: 0,
  parked: undefined,
})

export const isReady = ({ state, queue, next, parked }: Lane): boolean =>
  state === 'idle' && next < queue.length && (!parked || parked.replaying)

/** How many messages of it were done, since it began. */
export const doneOf = ({ kept, next }: Lane): number => kept + next

/** Keeps as done what was done by then: it never comes again. */
export function keep(lane: Lane, done: number): void {
  const count = Math.min(done, doneOf(lane)) - lane.kept
  if (count <= 0) return
  lane.queue.splice(0, count)
  lane.next -= count
  lane.kept += count
}

/** Takes the lane out of every hand. */
export function free(lane: Lane): void {
  lane.state = 'idle'
  lane.turn++
  lane.owner = undefined
}
