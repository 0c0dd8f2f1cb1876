import type { Migration } from '@penstock/ports/views.ts'
import { type Kysely, sql } from 'kysely'
import { appendOf, categoriesOf, type EventLogs, POSITIONS, servicesOf, tableOf } from './event-logs.ts'

const COLUMNS = 'position, stream, revision, id, type, data, meta'

/**
 * From one log for all services to a log for each. What is there is copied while others go on appending to it; then
 * appends wait for the little that came meanwhile. Positions stay as they are, so that all progress and all log heads do.
 */
export const splitSteps = (logs: EventLogs): readonly Migration[] => [
  (db) => copy(db, logs),
  async (db) => {
    // Appends of the release before wait here, where they have not touched the table yet.
    await run(db, `select pg_advisory_xact_lock('event_log'::regclass::oid::bigint)`)
    await run(db, 'lock table event_log in access exclusive mode')
    await copy(db, logs)
    await run(db, COMPLETE(logs))
    await run(db, `select setval('${POSITIONS}', max(position)) from event_log having max(position) is not null`)
    await run(db, 'drop table event_log')
    await run(db, `create view event_log as ${servicesOf(logs).map(whole).join(' union all ')}`)
    await run(db, APPEND_OF_BEFORE(logs))
    await run(db, AGAIN)
    await run(db, 'create trigger again instead of insert on event_log for each row execute function event_log_again()')
  },
]

const whole = (service: string): string =>
  `select position, stream, revision, category, id, type, data, meta from ${tableOf(service)}`
const quoted = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join(', ')
const run = async (db: Kysely<object>, text: string): Promise<void> => void (await sql.raw(text).execute(db))

/** What each log does not have yet: positions are in the order of the commits, so it has all up to its last. */
async function copy(db: Kysely<object>, logs: EventLogs): Promise<void> {
  for (const service of servicesOf(logs)) {
    const table = tableOf(service)
    await run(
      db,
      `insert into ${table} (${COLUMNS}) select ${COLUMNS} from event_log
        where category in (${quoted(categoriesOf(logs, service))})
          and position > (select coalesce(max(position), 0) from ${table})`,
    )
  }
}

/** The old table goes only once every event is seen to be in a log. */
const COMPLETE = (logs: EventLogs): string => `do $$
  declare
    lost text;
  begin
    select e.stream into lost from event_log e where not exists (
      ${servicesOf(logs)
        .map((service) => `select from ${tableOf(service)} l where l.position = e.position and l.id = e.id`)
        .join(' union all ')}
    ) limit 1;
    if lost is not null then
      raise exception 'the stream % belongs to the log of no service', lost;
    end if;
  end $$`

/**
 * What the release before appends by, while it runs beside this one. Its services append to streams of their own alone, so
 * that one call is about one log; a call about several is refused, and its appends come one by one then.
 */
const APPEND_OF_BEFORE = (logs: EventLogs): string => `
  create or replace function append_to_event_log(
    streams text[], firsts integer[], batches integer[], ids uuid[], types text[], datas text[], metas text[]
  ) returns table (head integer, last_position bigint) language plpgsql as $$
  declare
    services text[];
  begin
    select array_agg(distinct case split_part(s, '-', 1)
      ${[...logs].map(([category, service]) => `when '${category}' then '${service}'`).join(' ')} end) into services
    from unnest(streams) s;
    ${servicesOf(logs)
      .map(
        (service) => `if services = array['${service}'] then
      return query select a.head, a.last_position from ${appendOf(service)}(streams, firsts, batches, ids, types, datas, metas) a;
      perform pg_notify('event_log', '');
      return;
    end if;`,
      )
      .join('\n    ')}
    raise exception 'one append is about the logs %', services;
  end $$`

/** For calls that began before the split and go on behind it: by this code the client makes them once more. */
const AGAIN = `create function event_log_again() returns trigger language plpgsql as $$
  begin
    raise exception 'the event log was split' using errcode = 'serialization_failure';
  end $$`
