import type { DatabaseSync } from 'node:sqlite'
import { ofLog, type TableFault } from '../shared/table-fault.ts'
import { DAMAGED, isDamage } from './damage.ts'
import { definitionsIn, EVENT_TABLES, ownDefinitions } from './event-tables.ts'
import { SEGMENT_BITS } from './stream-heads.ts'

/**
 * The tables beside the events decide what a reader finds of them: a changed index shortens a stream although all of its
 * events are there, and an event before the log's beginning is read with its stream and not with the log.
 * @returns the first fault, from each of them; none where all say what the events say
 */
export function tableFaults(db: DatabaseSync): readonly TableFault[] {
  try {
    return faultsOf(db)
  } catch (error) {
    if (isDamage(error)) return [ofLog(DAMAGED)]
    throw error
  }
}

function faultsOf(db: DatabaseSync): readonly TableFault[] {
  const [own, there] = [ownDefinitions(), definitionsIn(db)]
  const [odd] = [...there.filter((line) => !own.includes(line)), ...own.filter((line) => !there.includes(line))]
  // What follows relies on the tables' own rules.
  if (odd !== undefined) return [ofLog(`the file has other tables, views or triggers than this code makes: ${odd}`)]
  const damage = EVENT_TABLES.flatMap((table) => db.prepare(`pragma integrity_check(${table})`).all())
    .map((row) => String(row['integrity_check']))
    .find((found) => found !== 'ok')
  if (damage !== undefined) return [ofLog(`the file is damaged: ${damage}`)]
  const found = (checks: readonly Check[]): readonly TableFault[] =>
    checks.flatMap(([query, what]) => {
      const row = db.prepare(query).get()
      if (!row) return []
      const column = row['name'] === undefined ? '' : ` (${String(row['name'])})`
      return [{ stream: String(row['stream']), revision: Number(row['revision']), what: `${what}${column}` }]
    })
  const mistyped = found(TYPES)
  // What follows compares values, and values of another type compare otherwise.
  return mistyped.length > 0 ? mistyped : found(CHECKS)
}

type Check = readonly [query: string, what: string]

/** SQLite keeps a value of any type in any column; the column's declared type is only a wish. */
const isOdd = (column: string, type: 'integer' | 'text'): string =>
  type === 'text'
    ? `typeof(${column}) <> 'text'`
    : `(typeof(${column}) <> 'integer' or ${column} > ${Number.MAX_SAFE_INTEGER} or ${column} < -${Number.MAX_SAFE_INTEGER})`

/** All columns of the events in one pass, since the table is large. */
function oddEvents(columns: Readonly<Record<string, 'integer' | 'text'>>): Check {
  const odd = Object.entries(columns).map(([column, type]) => [column, isOdd(`e.${column}`, type)] as const)
  return [
    `select coalesce(s.name, 'log') as stream, case when ${isOdd('e.revision', 'integer')} then 0 else e.revision end as revision,
       case ${odd.map(([column, test]) => `when ${test} then '${column}'`).join(' ')} end as name
     from events e left join streams s on s.id = e.stream where ${odd.map(([, test]) => test).join(' or ')} limit 1`,
    'a column of it is stored as another type, or as a larger number, than readers take',
  ]
}

const oddRow = (table: string, column: string, type: 'integer' | 'text'): Check => [
  `select 'log' as stream, 0 as revision from ${table} where ${isOdd(column, type)} limit 1`,
  `the column ${column} of the table ${table} has a value of another type than ${type}`,
]

const TYPES: readonly Check[] = [
  oddEvents({
    position: 'integer',
    stream: 'integer',
    revision: 'integer',
    id: 'text',
    type: 'text',
    data: 'text',
    meta: 'text',
  }),
  oddRow('streams', 'id', 'integer'),
  oddRow('streams', 'name', 'text'),
  oddRow('streams', 'category', 'text'),
  ...['stream', 'revision', 'position'].map((column) => oddRow('stream_events', column, 'integer')),
  oddRow('indexed', 'position', 'integer'),
  oddRow('segments', 'category', 'text'),
  oddRow('segments', 'segment', 'integer'),
]

const SEGMENT = 2 ** SEGMENT_BITS
const INDEXED = '(select coalesce(max(position), 0) from indexed)'

const CHECKS: readonly Check[] = [
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join streams s on s.id = e.stream where e.position < 1 limit 1`,
    'it lies before the beginning of the log, where readers of its stream find it and readers of the log do not',
  ],
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join stream_events i on i.stream = e.stream and i.revision = e.revision left join streams s on s.id = e.stream
     where e.position <= ${INDEXED} and i.position is not e.position limit 1`,
    "the index of the stream's events lacks it",
  ],
  [
    `select coalesce(s.name, 'stream ' || i.stream) as stream, i.revision as revision
     from stream_events i left join events e on e.position = i.position left join streams s on s.id = i.stream
     where e.stream is not i.stream or e.revision is not i.revision or i.position > ${INDEXED} limit 1`,
    'the index names an event that is not there',
  ],
  [
    `select coalesce(s.name, 'stream ' || e.stream) as stream, e.revision as revision
     from events e left join streams s on s.id = e.stream where s.name is null limit 1`,
    'its stream has no name',
  ],
  [
    `select name as stream, 0 as revision from streams s
     where category is not substr(name, 1, instr(name, '-') - 1) or not exists (select 1 from stream_events i where i.stream = s.id)
       and not exists (select 1 from events e where e.position > ${INDEXED} and e.stream = s.id) limit 1`,
    'the stream has no events, or another category than its name says',
  ],
  [
    `select s.name as stream, e.revision as revision from (
       select distinct s.category as category, e.position / ${SEGMENT} as segment from events e join streams s on s.id = e.stream
       except select category, segment from segments) missing
     join events e on e.position / ${SEGMENT} = missing.segment join streams s on s.id = e.stream and s.category = missing.category limit 1`,
    'the log is not known to hold this category where it does, so that its followers would miss events',
  ],
  [`select 'log' as stream, 0 as revision where (select count(*) from indexed) <> 1`, 'it is not known how far the index goes'],
]
