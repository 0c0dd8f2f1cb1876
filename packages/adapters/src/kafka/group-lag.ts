import type { Clock } from '@penstock/ports/clock.ts'

/** A partition's log as the brokers have it, and the group's place in it; undefined where it has none yet. */
type PartitionState = {
  readonly partition: number
  readonly low: number
  readonly high: number
  readonly place: number | undefined
}

export type GroupLag = ReturnType<typeof groupLag>

/** What was measured before is no figure of today. */
const FRESH_MS = 60_000

/**
 * How far a group is behind in its topic, by what the brokers say of it: whoever asks sees the same, whether or not any
 * member lives and whatever it has in hand.
 */
export function groupLag(clock: Clock) {
  /** Partitions in which messages wait, with the group's place and since when it has been there. */
  let standing = new Map<number, { readonly place: number; readonly since: number }>()
  let measured: { readonly at: number; readonly behind: number } | undefined

  return {
    note(partitions: readonly PartitionState[]): void {
      const now = clock.monotonicMs()
      const before = standing
      standing = new Map()
      let behind = 0
      for (const { partition, low, high, place: committed = low } of partitions) {
        const place = Math.max(low, committed)
        if (place >= high) continue
        behind += high - place
        const present = before.get(partition)
        standing.set(partition, present?.place === place ? present : { place, since: now })
      }
      measured = { at: now, behind }
    },
    /** Messages that are not dealt with; undefined where nobody could measure it of late. */
    behind: (): number | undefined => (measured && clock.monotonicMs() - measured.at < FRESH_MS ? measured.behind : undefined),
    /**
     * How long the group has been at the same place in a partition in which messages wait, by the longest. It goes on
     * growing while nobody can measure; undefined where nobody could ever.
     */
    standingSeconds(): number | undefined {
      if (!measured) return undefined
      const now = clock.monotonicMs()
      return Math.max(0, ...[...standing.values()].map(({ since }) => (now - since) / 1000))
    },
  }
}
