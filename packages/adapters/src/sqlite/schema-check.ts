import type { DatabaseSync } from 'node:sqlite'
import { createLogFault, type SchemaFault } from '../shared/schema-check.ts'
import { DAMAGED_MESSAGE, isDamageError } from './damage.ts'
import { readDefinitions, EVENT_TABLES, computeExpectedDefinitions } from './event-tables.ts'
import { SEGMENT_BITS } from './stream-heads.ts'

/**
 * Compares the helper tables with the events, because readers rely on both. A changed index can shorten a stream although all its
 * events exist. A read of the stream finds an event before the start of the log, and a read of the log does not.
 * @returns the first fault of each check; an empty list if all tables agree with the events
 */
export function findSchemaFaults(db: DatabaseSync): readonly SchemaFault[] {
  try {
    return checkSchema(db)
  } catch (error) {
    if (isDamageError(error)) return [createLogFault(DAMAGED_MESSAGE)]
    throw error
  }
}

function checkSchema(db: DatabaseSync): readonly SchemaFault[] {
  const [expected, actual] = [computeExpectedDefinitions(), readDefinitions(db)]
  const [unexpected] = [
    ...actual.filter((line) => !expected.includes(line)),
    ...expected.filter((line) => !actual.includes(line)),
  ]
  // The later checks rely on the constraints of the tables.
  if (unexpected !== undefined)
    return [createLogFault(`the file has other tables, views or triggers than this code makes: ${unexpected}`)]
  const damage = EVENT_TABLES.flatMap((table) => db.prepare(`pragma integrity_check(${table})`).all())
    .map((row) => String(row['integrity_check']))
    .find((found) => found !== 'ok')
  if (damage !== undefined) return [createLogFault(`the file is damaged: ${damage}`)]
  const found = (checks: readonly Check[]): readonly SchemaFault[] =>
    checks.flatMap(([query, what]) => {
      const row = db.prepare(query).get()
      if (!row) return []
      const column = row['name'] === undefined ? '' : ` (${String(row['name'])})`
      return [{ stream: String(row['stream']), revision: Number(row['revision']), what: `${what}${column}` }]
    })
  const mistyped = found(TYPES)
  // The later checks compare values, and SQLite compares values of other types differently.
  return mistyped.length > 0 ? mistyped : found(CHECKS)
}

type Check = readonly [query: string, what: string]

/** SQLite stores a value of any type in any column; the declared type is only a preference. */
const mistypedCondition = (column: string, type: 'integer' | 'text'): string =>
  type === 'text'
    ? `typeof(${column}) <> 'text'`
    : `(typeof(${column}) <> 'integer' or ${column} > ${Number.MAX_SAFE_INTEGER} or ${column} < -${Number.MAX_SAFE_INTEGER})`

/** Checks all columns of the events in one pass, because the table is large. */
function createEventTypeCheck(columns: Readonly<Record<string, 'integer' | 'text'>>): Check {
  const unexpected = Object.entries(columns).map(([column, type]) => [column, mistypedCondition(`e.${column}`, type)] as const)
  return [
    `select coalesce(s.name, 'log') as stream, case when ${mistypedCondition('e.revision', 'integer')} then 0 else e.revision end as revision,
       case ${unexpected.map(([column, test]) => `when ${test} then '${column}'`).join(' ')} end as name
     from events e left join streams s on s.id = e.stream where ${unexpected.map(([, test]) => test).join(' or ')} limit 1`,
    'the event has a column of another type, or a larger number, than readers accept',
  ]
}

const createColumnTypeCheck = (table: string, column: string, type: 'integer' | 'text'): Check => [
  `select 'log' as stream, 0 as revision from ${table} where ${mistypedCondition(column, type)} limit 1`,
  `the column ${column} of the table ${table} has a value of another type than ${type}`,
]

const TYPES: readonly Check[] = [
  createEventTypeCheck({
    position: 'integer',
    stream: 'integer',
    revision: 'integer',
    id: 'text',
    type: 'text',
    data: 'text',
    meta: 'text',
  }),
  createColumnTypeCheck('streams', 'id', 'integer'),
  createColumnTypeCheck('streams', 'name', 'text'),
  createColumnTypeCheck('streams', 'category', 'text'),
  ...['stream', 'revision', 'position'].map((column) => createColumnTypeCheck('stream_events', column, 'integer')),
  createColumnTypeCheck('indexed', 'position', 'integer'),
  createColumnTypeCheck('segments', 'category', 'text'),
  createColumnTypeCheck('segments', 'segment', 'integer'),
]

const SEGMENT = 2 ** SEGMENT_BITS
const INDEXED = '(select coalesce(max(position), 0) from indexed)'

const CHECKS: readonly Check[] = [
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join streams s on s.id = e.stream where e.position < 1 limit 1`,
    'the event lies before the beginning of the log: a read of its stream finds it, and a read of the log does not',
  ],
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join stream_events i on i.stream = e.stream and i.revision = e.revision left join streams s on s.id = e.stream
     where e.position <= ${INDEXED} and i.position is not e.position limit 1`,
    'the index of the stream lacks the event',
  ],
  [
    `select coalesce(s.name, 'stream ' || i.stream) as stream, i.revision as revision
     from stream_events i left join events e on e.position = i.position left join streams s on s.id = i.stream
     where e.stream is not i.stream or e.revision is not i.revision or i.position > ${INDEXED} limit 1`,
    'the index contains an event that does not exist',
  ],
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join streams s on s.id = e.stream where s.name is null limit 1`,
    'the stream of the event has no name',
  ],
  [
    `select name as stream, 0 as revision from streams s
     where category is not substr(name, 1, instr(name, '-') - 1) or not exists (select 1 from stream_events i where i.stream = s.id)
       and not exists (select 1 from events e where e.position > ${INDEXED} and e.stream = s.id) limit 1`,
    'the stream has no events, or its category differs from its name',
  ],
  [
    `select s.name as stream, e.revision as revision from (
       select distinct s.category as category, e.position / ${SEGMENT} as segment from events e join streams s on s.id = e.stream
       except select category, segment from segments) missing
     join events e on e.position / ${SEGMENT} = missing.segment join streams s on s.id = e.stream and s.category = missing.category limit 1`,
    'the table of segments lacks the category of the event, so that followers would miss the event',
  ],
  [`select 'log' as stream, 0 as revision where (select count(*) from indexed) <> 1`, 'the end of the index is unknown'],
]
