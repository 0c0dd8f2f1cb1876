import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Pool } from './pool.ts'

type Row = { position: string; stream: string; revision: number; id: string; type: string; data: string; meta: string }

const EVENT = 'position, stream, revision, id, type, data, meta'

const STREAM = {
  name: 'read-stream',
  text: `select ${EVENT} from event_log where stream = $1 and revision >= $2 order by revision limit $3`,
}
const ALL = { name: 'read-all', text: `select ${EVENT} from event_log where position > $1 order by position limit $2` }
/** Each category by its own index, so that whoever follows a quiet one does not read the busy ones. */
const CATEGORIES = {
  name: 'read-categories',
  text: `select e.* from unnest($3::text[]) as wanted (category) cross join lateral (
      select ${EVENT} from event_log l where l.category = wanted.category and l.position > $1 order by l.position limit $2
    ) e order by e.position limit $2`,
}

export function eventReader(pool: Pool) {
  const read = async (query: { name: string; text: string }, values: readonly unknown[]): Promise<readonly StoredEvent[]> => {
    const { rows } = await pool.query<Row>({ ...query, values: [...values] })
    return rows.map((row) => ({ ...row, position: BigInt(row.position) }))
  }
  return {
    read: (stream: string, from: number, max: number | undefined) => read(STREAM, [stream, from, max ?? null]),
    page(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
      const from = after === 'start' ? '0' : String(after)
      return categories ? read(CATEGORIES, [from, max, [...new Set(categories)]]) : read(ALL, [from, max])
    },
  }
}
