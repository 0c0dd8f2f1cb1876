import { DAY_MS, HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import type { MarketLog } from './log.ts'

export type RetentionOptions = {
  /** A message that every group has handled stays for so long, for groups that subscribe for the first time. */
  readonly keepMs?: number
  /** After so long a message goes even if a group has not handled it: the group is gone, and facts are read from the store. */
  readonly maxAgeMs?: number
  readonly sweepEveryMs?: number
}

const BATCH = 256
/** Between two batches, so that a sweep of many messages is not felt. */
const PAUSE_MS = 20

/** Deletes old messages in the background, a few at a time. The newest one stays, since numbers are counted on from it. */
export function keepRetention(
  log: MarketLog,
  now: () => number,
  { keepMs = HOUR_MS, maxAgeMs = 7 * DAY_MS, sweepEveryMs = 30 * SECOND_MS }: RetentionOptions,
): { close(): void } {
  if (log.readOnly) return { close: () => {} }
  const topics = log.db.prepare(`select t.id, min(c.seq) as handled from topics t
    left join checkpoints c on c.topic = t.name group by t.id`)
  // Only the oldest few are looked at: times grow with the numbers.
  const remove = log.db.prepare(`delete from messages where seq in (
    select seq from (select seq, at from messages where topic = ? order by seq limit ${BATCH})
    where seq < (select max(seq) from messages) and ((seq <= ? and at < ?) or at < ?))`)
  let timer = setTimeout(() => void sweep(), sweepEveryMs)
  let closed = false
  timer.unref()

  async function sweep(): Promise<void> {
    let removed = 0
    try {
      removed = await log.write(() => {
        let count = 0
        for (const row of topics.all()) {
          const { id, handled } = row
          count += Number(remove.run(Number(id), Number(handled ?? 0), now() - keepMs, now() - maxAgeMs).changes)
        }
        return count
      })
    } catch {
      // The log is closed or cannot be written now: the next sweep tries again.
    }
    if (closed) return
    timer = setTimeout(() => void sweep(), removed > 0 ? PAUSE_MS : sweepEveryMs)
    timer.unref()
  }
  return {
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
