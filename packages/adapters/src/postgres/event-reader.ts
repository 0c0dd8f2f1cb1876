import { categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { type EventLogs, POSITIONS, servicesOf, tableOf } from './event-logs.ts'
import type { Pool } from './pool.ts'

type Row = { position: string; stream: string; revision: number; id: string; type: string; data: string; meta: string }
type Query = { readonly name?: string; readonly text: string }

const EVENT = 'position, stream, revision, id, type, data, meta'
/** Within a log whoever sees a position sees all below it. */
const NO_END = '9223372036854775807'

const ofStream = (log: string): Query => ({
  name: `read-stream ${log}`,
  text: `select ${EVENT} from ${tableOf(log)} where stream = $1 and revision >= $2 order by revision limit $3`,
})

const ALL = (log: string): string =>
  `(select ${EVENT} from ${tableOf(log)} where position > $1 and position <= $3 order by position limit $2)`
/** Each category by its own index, so that whoever follows a quiet one does not read the busy ones. */
const CATEGORIES = (log: string): string => `(select e.* from unnest($4::text[]) as wanted (category) cross join lateral (
      select ${EVENT} from ${tableOf(log)} l
      where l.category = wanted.category and l.position > $1 and l.position <= $3 order by l.position limit $2
    ) e order by e.position limit $2)`

const ofLogs = (logs: readonly string[], isByCategory: boolean): Query => ({
  // Kept prepared where it is read again and again: a name has at most 63 characters.
  ...(logs.length === 1 && { name: `read-${isByCategory ? 'categories' : 'all'} ${logs[0]}` }),
  text: `select * from (${logs.map(isByCategory ? CATEGORIES : ALL).join(' union all ')}) e order by position limit $2`,
})

export function eventReader(pool: Pool, logs: EventLogs) {
  const all = servicesOf(logs)
  /** Below it no event comes any more in any log. */
  let settled = 0n

  const read = async (query: Query, values: readonly unknown[]): Promise<readonly StoredEvent[]> => {
    const { rows } = await pool.query<Row>({ ...query, values: [...values] })
    return rows.map((row) => ({ ...row, position: BigInt(row.position) }))
  }

  /**
   * Several logs have one order, by their numbers, and the number of an append that is under way in one of them may lie
   * below what another one shows. Numbers are taken under a log's lock: once that was had, all that were taken before are
   * visible, or never will be.
   */
  async function settle(): Promise<void> {
    const connection = await pool.connect()
    try {
      const { rows } = await connection.query<{ last: string | null }>(
        `select case when is_called then last_value end as last from ${POSITIONS}`,
      )
      // One after the other and each by itself: nobody waits for one log while it keeps another.
      for (const log of all)
        await connection.query(`select pg_advisory_xact_lock_shared('${tableOf(log)}'::regclass::oid::bigint)`)
      settled = BigInt(rows[0]?.last ?? 0)
    } finally {
      connection.release()
    }
  }

  return {
    async read(stream: string, from: number, max: number | undefined): Promise<readonly StoredEvent[]> {
      const log = logs.get(categoryOf(stream))
      return log === undefined ? [] : read(ofStream(log), [stream, from, max ?? null])
    },
    async page(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
      const known = categories && [...new Set(categories)].filter((category) => logs.has(category))
      const wanted = known ? all.filter((log) => known.some((category) => logs.get(category) === log)) : all
      if (wanted.length === 0) return []
      const query = ofLogs(wanted, known !== undefined)
      const upTo = (end: string) => read(query, [after === 'start' ? '0' : String(after), max, end, ...(known ? [known] : [])])
      if (wanted.length === 1) return upTo(NO_END)
      const events = await upTo(String(settled))
      if (events.length === max) return events
      await settle()
      return upTo(String(settled))
    },
  }
}
