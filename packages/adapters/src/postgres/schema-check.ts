import { createLogFault, type SchemaFault } from '../shared/schema-check.ts'
import { categoriesOf, type EventLogs, POSITION_SEQUENCE, servicesOf, logTableOf } from './event-logs.ts'
import { openConnectionPool, type ConnectionPool, type PostgresSettings } from './pool.ts'

type TableShape = { kind: string; rules: boolean; triggers: boolean; security: boolean; parted: boolean; unique: number }

/**
 * The shape that readers of a log rely on: a plain table with unique positions, revisions and ids. No rule, trigger or policy
 * changes or hides its rows.
 */
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
    query: `select stream, revision from ${logTableOf(service)} where position < 1 order by position limit 1`,
    what: 'the event lies before the beginning of the log: a read of its stream finds it, and a read of the log does not',
  },
  {
    query: `select stream, revision from ${logTableOf(service)}
      where position > (select case when is_called then last_value else 0 end from ${POSITION_SEQUENCE}) order by position limit 1`,
    what: 'the event lies beyond the last position of the sequence, so that readers of all logs would miss it',
  },
  {
    query: `select stream, revision from ${logTableOf(service)} where category is distinct from split_part(stream, '-', 1) limit 1`,
    what: 'the category of the event differs from the name of its stream, so that followers would miss it',
  },
  {
    query: `select stream, revision from ${logTableOf(service)} where split_part(stream, '-', 1) <> all ($1) limit 1`,
    values: [categoriesOf(logs, service)],
    what: `the event lies in the log of ${service}, which does not own its stream, so that no reader finds it`,
  },
]

/** Finds a position that two logs share. Readers of all logs would skip the second event. */
const createPositionCheck = (logs: EventLogs): Check => {
  const all = servicesOf(logs).map((service) => `select position, stream, revision from ${logTableOf(service)}`)
  return {
    query: `select max(stream) as stream, max(revision) as revision from (${all.join(' union all ')}) l
      group by position having count(*) > 1 limit 1`,
    what: 'an event of another log has the same position',
  }
}

/**
 * Checks the catalog entries of the log tables, and finds events that no reader of the logs would see. It trusts the server
 * itself, its catalog and its indexes. @returns the first fault of each kind; an empty list if the logs are intact
 */
export async function findPostgresSchemaFaults(settings: PostgresSettings, logs: EventLogs): Promise<readonly SchemaFault[]> {
  const pool = openConnectionPool({ ...settings, purpose: 'audit', connections: 1, statementTimeoutMs: TIMEOUT_MS })
  try {
    for (const service of servicesOf(logs)) {
      const shape = await findShapeFault(pool, logTableOf(service))
      if (shape !== undefined) return [shape]
    }
    const found: SchemaFault[] = []
    for (const { query, values, what } of [
      ...servicesOf(logs).flatMap((service) => checksOf(logs, service)),
      createPositionCheck(logs),
    ]) {
      const { rows } = await pool.query<{ stream: string; revision: number }>(query, values)
      found.push(...rows.map((row) => ({ ...row, what })))
    }
    return found
  } finally {
    await pool.end()
  }
}

/** A long timeout, because the check reads all events. */
const TIMEOUT_MS = 3_600_000

async function findShapeFault(pool: ConnectionPool, table: string): Promise<SchemaFault | undefined> {
  const [shape] = (await pool.query<TableShape>(SHAPE, [table])).rows
  if (!shape) return createLogFault(`the database has no table ${table}`)
  const problems = [
    shape.kind !== 'r' && 'it is no plain table',
    shape.rules && 'it has rules',
    shape.triggers && 'it has triggers',
    shape.security && 'its rows are hidden by policies',
    shape.parted && 'it is made of several tables',
    shape.unique !== UNIQUE_RULES && 'it may contain a position, an id, or a revision of a stream twice',
  ].filter((fault) => fault !== false)
  return problems.length === 0 ? undefined : createLogFault(`the table ${table} is not as defined: ${problems.join(', ')}`)
}
