import { DAY_MS, HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import type { MarketLog } from '../market-log.ts'

export type RetentionOptions = {
  /** Time in ms that a handled message is kept, for groups that subscribe for the first time. */
  readonly keepMs?: number
  /** Age in ms at which a message is deleted even if a group has not handled it. The event store still has the facts. */
  readonly maxAgeMs?: number
  readonly sweepEveryMs?: number
}

const BATCH = 256
/** Pause between two batches, so that a long sweep does not slow down other work. */
const PAUSE_MS = 20

/** Deletes old messages in small batches in the background. The newest message stays, because the next number follows from it. */
export function startRetention(
  log: MarketLog,
  now: () => number,
  { keepMs = HOUR_MS, maxAgeMs = 7 * DAY_MS, sweepEveryMs = 30 * SECOND_MS }: RetentionOptions,
): { close(): void } {
  if (log.readOnly) return { close: () => {} }
  const topics = log.db.prepare(`select t.id, min(c.seq) as handled from topics t
    left join checkpoints c on c.topic = t.name group by t.id`)
  // The query checks only the oldest messages, because timestamps grow with the numbers.
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
      // The log is closed or cannot be written now. The next sweep tries again.
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
