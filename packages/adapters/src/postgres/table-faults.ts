import { ofLog, type TableFault } from '../shared/table-fault.ts'
import { openPool, type Pool, type PostgresSettings } from './pool.ts'

type Shape = { kind: string; rules: boolean; triggers: boolean; security: boolean; parted: boolean; unique: number }

/** What the log's readers rely on: a table of its own, whose rows nothing changes or hides, with one event for a place. */
const SHAPE = `select c.relkind as kind, c.relrowsecurity as security,
    exists (select from pg_rewrite where ev_class = c.oid and rulename <> '_RETURN') as rules,
    exists (select from pg_trigger where tgrelid = c.oid and not tgisinternal) as triggers,
    (c.relispartition or exists (select from pg_inherits where inhparent = c.oid)) as parted,
    (select count(*)::integer from pg_constraint o join pg_index i on i.indexrelid = o.conindid
      where o.conrelid = c.oid and o.contype in ('p', 'u') and o.convalidated and i.indisvalid and i.indisunique
        and pg_get_constraintdef(o.oid) in ('PRIMARY KEY ("position")', 'UNIQUE (stream, revision)', 'UNIQUE (id)')) as unique
  from pg_class c where c.oid = 'event_log'::regclass`
const UNIQUE_RULES = 3

const CHECKS: readonly (readonly [query: string, what: string])[] = [
  [
    'select stream, revision from event_log where position < 1 order by position limit 1',
    'it lies before the beginning of the log, where readers of its stream find it and readers of the log do not',
  ],
  [
    `select stream, revision from event_log where category is distinct from split_part(stream, '-', 1) limit 1`,
    'it has another category than its name says, so that followers would miss it',
  ],
]

/**
 * What the server's catalog says of the log's table, and events that no reader of the log would see. The server itself, its
 * catalog and its indexes, is taken at its word. @returns the first fault of each kind; none where all is as it was made
 */
export async function postgresTableFaults(settings: PostgresSettings): Promise<readonly TableFault[]> {
  const pool = openPool({ ...settings, purpose: 'audit', connections: 1, statementTimeoutMs: TIMEOUT_MS })
  try {
    const shape = await shapeFault(pool)
    if (shape !== undefined) return [shape]
    const found: TableFault[] = []
    for (const [query, what] of CHECKS) {
      const { rows } = await pool.query<{ stream: string; revision: number }>(query)
      found.push(...rows.map((row) => ({ ...row, what })))
    }
    return found
  } finally {
    await pool.end()
  }
}

/** It looks through all events. */
const TIMEOUT_MS = 3_600_000

async function shapeFault(pool: Pool): Promise<TableFault | undefined> {
  const [shape] = (await pool.query<Shape>(SHAPE)).rows
  if (!shape) return ofLog('the database has no table event_log')
  const wrong = [
    shape.kind !== 'r' && 'it is no plain table',
    shape.rules && 'it has rules',
    shape.triggers && 'it has triggers',
    shape.security && 'rows of it are hidden by policies',
    shape.parted && 'it is made of several tables',
    shape.unique !== UNIQUE_RULES && 'positions, ids, or revisions of a stream may stand in it twice',
  ].filter((fault) => fault !== false)
  return wrong.length === 0 ? undefined : ofLog(`the table event_log is not as it was made: ${wrong.join(', ')}`)
}
