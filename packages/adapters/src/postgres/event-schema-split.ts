import type { Migration } from '@penstock/ports/views.ts'
import { type Kysely, sql } from 'kysely'
import { appendFunctionOf, categoriesOf, type EventLogs, POSITION_SEQUENCE, servicesOf, logTableOf } from './event-logs.ts'

const COLUMNS = 'position, stream, revision, id, type, data, meta'

/**
 * Splits the single log into one log per service. The first step copies events while services continue to append. The second step
 * blocks appends and copies the rest. Positions do not change, so that progress and log heads stay valid.
 */
export const splitSteps = (logs: EventLogs): readonly Migration[] => [
  (db) => copyEvents(db, logs),
  async (db) => {
    // The lock makes appends of the previous release wait before they touch the table.
    await runSql(db, `select pg_advisory_xact_lock('event_log'::regclass::oid::bigint)`)
    await runSql(db, 'lock table event_log in access exclusive mode')
    await copyEvents(db, logs)
    await runSql(db, completenessCheck(logs))
    await runSql(db, `select setval('${POSITION_SEQUENCE}', max(position)) from event_log having max(position) is not null`)
    await runSql(db, 'drop table event_log')
    await runSql(db, `create view event_log as ${servicesOf(logs).map(selectAll).join(' union all ')}`)
    await runSql(db, previousAppendFunction(logs))
    await runSql(db, RETRY_TRIGGER_FUNCTION)
    await runSql(db, 'create trigger again instead of insert on event_log for each row execute function event_log_again()')
  },
]

const selectAll = (service: string): string =>
  `select position, stream, revision, category, id, type, data, meta from ${logTableOf(service)}`
const quoted = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join(', ')
const runSql = async (db: Kysely<object>, text: string): Promise<void> => void (await sql.raw(text).execute(db))

/** Copies the missing events to each log. Positions follow the order of commits, so a log is complete up to its last position. */
async function copyEvents(db: Kysely<object>, logs: EventLogs): Promise<void> {
  for (const service of servicesOf(logs)) {
    const table = logTableOf(service)
    await runSql(
      db,
      `insert into ${table} (${COLUMNS}) select ${COLUMNS} from event_log
        where category in (${quoted(categoriesOf(logs, service))})
          and position > (select coalesce(max(position), 0) from ${table})`,
    )
  }
}

/** The old table is dropped only once every event is in a log. */
const completenessCheck = (logs: EventLogs): string => `do $$
  declare
    lost text;
  begin
    select e.stream into lost from event_log e where not exists (
      ${servicesOf(logs)
        .map((service) => `select from ${logTableOf(service)} l where l.position = e.position and l.id = e.id`)
        .join(' union all ')}
    ) limit 1;
    if lost is not null then
      raise exception 'the stream % belongs to the log of no service', lost;
    end if;
  end $$`

/**
 * The append function for services of the previous release, which may run at the same time as this one. They append only to their
 * own streams, so a call normally concerns one log. A call about several logs is refused, and its appends then arrive one by one.
 */
const previousAppendFunction = (logs: EventLogs): string => `
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
      return query select a.head, a.last_position from ${appendFunctionOf(service)}(streams, firsts, batches, ids, types, datas, metas) a;
      perform pg_notify('event_log', '');
      return;
    end if;`,
      )
      .join('\n    ')}
    raise exception 'one append is about the logs %', services;
  end $$`

/** Fails calls that began before the split and continue after it. The error code makes the client retry them. */
const RETRY_TRIGGER_FUNCTION = `create function event_log_again() returns trigger language plpgsql as $$
  begin
    raise exception 'the event log was split' using errcode = 'serialization_failure';
  end $$`
