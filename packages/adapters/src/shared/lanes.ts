import type { LaneSource, Sequenced } from './lane-source.ts'

/** One key that has messages in hand. `behind`: the log has more of it, up to `last`, than are kept here. */
export type Lane = { readonly key: string; readonly waiting: Sequenced[]; first: number; last: number; behind: boolean }

const KEPT_PER_LANE = 16

/** The keys that are being worked on, each with the place that it has reached. */
export function laneTable(source: LaneSource) {
  const lanes = new Map<string, Lane>()
  return {
    count: () => lanes.size,
    /** Puts a message behind others of its key. @returns false where the key has no lane */
    follow(message: Sequenced): boolean {
      const lane = lanes.get(message.key)
      if (!lane) return false
      if (lane.waiting.length < KEPT_PER_LANE && !lane.behind) lane.waiting.push(message)
      else lane.behind = true
      lane.last = message.seq
      return true
    },
    open(message: Sequenced): Lane {
      const lane = { key: message.key, waiting: [message], first: message.seq, last: message.seq, behind: false }
      lanes.set(message.key, lane)
      return lane
    },
    /** The next message of a lane, which is its place from now on. */
    next(lane: Lane): Sequenced | undefined {
      if (lane.waiting.length === 0 && lane.behind) {
        const more = source.readKey(lane.key, lane.first, lane.last, KEPT_PER_LANE)
        lane.waiting.push(...more)
        lane.behind = more.length === KEPT_PER_LANE
      }
      const message = lane.waiting.shift()
      if (message) lane.first = message.seq
      return message
    },
    /** A lane that is done. One that was stopped is kept, so that progress never moves past what is not handled. */
    close: (lane: Lane): void => void lanes.delete(lane.key),
    /** Up to where everything is handled, if messages were taken up to `seen`. */
    progress(seen: number): number {
      let handled = seen
      for (const lane of lanes.values()) handled = Math.min(handled, lane.first - 1)
      return handled
    },
  }
}
