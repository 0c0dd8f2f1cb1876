import { ofLog, type TableFault } from '../shared/table-fault.ts'
import { categoriesOf, type EventLogs, POSITIONS, servicesOf, tableOf } from './event-logs.ts'
import { openPool, type Pool, type PostgresSettings } from './pool.ts'

type Shape = { kind: string; rules: boolean; triggers: boolean; security: boolean; parted: boolean; unique: number }

/** What a log's readers rely on: a table of its own, whose rows nothing changes or hides, with one event for a place. */
const SHAPE = `select c.relkind as kind, c.relrowsecurity as security,
    exists (select from pg_rewrite where ev_class = c.oid and rulename <> '_RETURN') as rules,
    exists (select from pg_trigger where tgrelid = c.oid and not tgisinternal) as triggers,
    (c.relispartition or exists (select from pg_inherits where inhparent = c.oid)) as parted,
    (select count(*)::integer from pg_constraint o join pg_index i on i.indexrelid = o.conindid
      where o.conrelid = c.oid and o.contype in ('p', 'u') and o.convalidated and i.indisvalid and i.indisunique
        and pg_get_constraintdef(o.oid) in ('PRIMARY KEY ("position")', 'UNIQUE (stream, revision)', 'UNIQUE (id)')) as unique
  from pg_class c where c.oid = to_regclass($1)`
const UNIQUE_RULES = 3

type Check = { readonly query: string; readonly values?: readonly unknown[]; readonly what: string }

const checksOf = (logs: EventLogs, service: string): readonly Check[] => [
  {
    query: `select stream, revision from ${tableOf(service)} where position < 1 order by position limit 1`,
    what: 'it lies before the beginning of the log, where readers of its stream find it and readers of the log do not',
  },
  {
    query: `select stream, revision from ${tableOf(service)}
      where position > (select case when is_called then last_value else 0 end from ${POSITIONS}) order by position limit 1`,
    what: 'it lies beyond the last number that was given out, where readers of all logs do not look',
  },
  {
    query: `select stream, revision from ${tableOf(service)} where category is distinct from split_part(stream, '-', 1) limit 1`,
    what: 'it has another category than its name says, so that followers would miss it',
  },
  {
    query: `select stream, revision from ${tableOf(service)} where split_part(stream, '-', 1) <> all ($1) limit 1`,
    values: [categoriesOf(logs, service)],
    what: `it lies in the log of ${service}, which does not own it: nobody reads it there`,
  },
]

/** Readers of all logs go by position, and would pass over the second one. */
const taken = (logs: EventLogs): Check => {
  const all = servicesOf(logs).map((service) => `select position, stream, revision from ${tableOf(service)}`)
  return {
    query: `select max(stream) as stream, max(revision) as revision from (${all.join(' union all ')}) l
      group by position having count(*) > 1 limit 1`,
    what: 'an event of another log has the same position',
  }
}

/**
 * What the server's catalog says of the logs' tables, and events that no reader of the logs would see. The server itself, its
 * catalog and its indexes, is taken at its word. @returns the first fault of each kind; none where all is as it was made
 */
export async function postgresTableFaults(settings: PostgresSettings, logs: EventLogs): Promise<readonly TableFault[]> {
  const pool = openPool({ ...settings, purpose: 'audit', connections: 1, statementTimeoutMs: TIMEOUT_MS })
  try {
    for (const service of servicesOf(logs)) {
      const shape = await shapeFault(pool, tableOf(service))
      if (shape !== undefined) return [shape]
    }
    const found: TableFault[] = []
    for (const { query, values, what } of [...servicesOf(logs).flatMap((service) => checksOf(logs, service)), taken(logs)]) {
      const { rows } = await pool.query<{ stream: string; revision: number }>(query, values)
      found.push(...rows.map((row) => ({ ...row, what })))
    }
    return found
  } finally {
    await pool.end()
  }
}

/** It looks through all events. */
const TIMEOUT_MS = 3_600_000

async function shapeFault(pool: Pool, table: string): Promise<TableFault | undefined> {
  const [shape] = (await pool.query<Shape>(SHAPE, [table])).rows
  if (!shape) return ofLog(`the database has no table ${table}`)
  const wrong = [
    shape.kind !== 'r' && 'it is no plain table',
    shape.rules && 'it has rules',
    shape.triggers && 'it has triggers',
    shape.security && 'rows of it are hidden by policies',
    shape.parted && 'it is made of several tables',
    shape.unique !== UNIQUE_RULES && 'positions, ids, or revisions of a stream may stand in it twice',
  ].filter((fault) => fault !== false)
  return wrong.length === 0 ? undefined : ofLog(`the table ${table} is not as it was made: ${wrong.join(', ')}`)
}
