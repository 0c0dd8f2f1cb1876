import type { DatabaseSync } from 'node:sqlite'
import { ofLog, type TableFault } from '../shared/table-fault.ts'
import { definitionsIn, EVENT_TABLES, ownDefinitions } from './event-tables.ts'
import { SEGMENT_BITS } from './stream-heads.ts'

/**
 * The tables beside the events decide what a reader finds of them: a changed index shortens a stream although all of its
 * events are there, and an event before the log's beginning is read with its stream and not with the log.
 * @returns the first fault, from each of them; none where all say what the events say
 */
export function tableFaults(db: DatabaseSync): readonly TableFault[] {
  const [own, there] = [ownDefinitions(), definitionsIn(db)]
  const [odd] = [...there.filter((line) => !own.includes(line)), ...own.filter((line) => !there.includes(line))]
  // What follows relies on the tables' own rules.
  if (odd !== undefined) return [ofLog(`the file has other tables, views or triggers than this code makes: ${odd}`)]
  const damage = EVENT_TABLES.flatMap((table) => db.prepare(`pragma integrity_check(${table})`).all())
    .map((row) => String(row['integrity_check']))
    .find((found) => found !== 'ok')
  if (damage !== undefined) return [ofLog(`the file is damaged: ${damage}`)]
  return CHECKS.flatMap(([query, what]) => {
    const row = db.prepare(query).get()
    return row ? [{ stream: String(row['stream']), revision: Number(row['revision']), what }] : []
  })
}

const SEGMENT = 2 ** SEGMENT_BITS
const INDEXED = '(select coalesce(max(position), 0) from indexed)'

const CHECKS: readonly (readonly [query: string, what: string])[] = [
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
