import type { Views } from '@penstock/ports/views.ts'
import { type Kysely, sql } from 'kysely'
import { appendFunctionOf, type EventLogs, POSITION_SEQUENCE, servicesOf, logTableOf } from './event-logs.ts'
import { migrateOneLog } from './event-schema-one.ts'
import { splitSteps } from './event-schema-split.ts'

/**
 * Appends to one log run one after the other under the lock of the log. The server releases the lock after the commit is flushed
 * and visible. So the positions of a log follow the order of its commits. A reader that sees a position also sees all lower
 * positions of the log (docs/decisions/0010). The statement after the lock gets a snapshot that is newer than the lock.
 *
 * Positions come from a sequence that all logs share, and are taken under the lock. No position occurs in two logs. A fact that
 * follows from a fact of another log has the higher position. A failed transaction leaves a gap that is never filled.
 *
 * The function runs with the rights of the tables' owner, because a service may not write the table itself. Each stream occurs
 * once in `streams`. Events are passed as columns; `batches` contains the number of the append of each event, from 1.
 */
const appendFunctionText = (schema: string, service: string): string => `
  create function ${schema}.${appendFunctionOf(service)}(
    streams text[], firsts integer[], batches integer[], ids uuid[], types text[], datas text[], metas text[]
  ) returns table (head integer, last_position bigint)
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  declare
    base bigint;
  begin
    perform pg_advisory_xact_lock('${schema}.${logTableOf(service)}'::regclass::oid::bigint);
    select coalesce(max(l.position), 0) into base from ${schema}.${logTableOf(service)} l;
    if base > (select s.last_value from ${schema}.${POSITION_SEQUENCE} s) then
      raise exception 'the sequence ${POSITION_SEQUENCE} is behind the log ${logTableOf(service)}'
        using hint = 'It was restored from an older copy: run select setval(''${POSITION_SEQUENCE}'', (select max(position) from event_log)).';
    end if;
    return query
      with appends as materialized (
        select a.n, a.stream, a.first,
          coalesce((select max(l.revision) from ${schema}.${logTableOf(service)} l where l.stream = a.stream), -1) as head
        from unnest(streams, firsts) with ordinality as a (stream, first, n)
      ), sorted as materialized (
        select a.stream, a.first + (row_number() over (partition by e.batch order by e.n))::integer - 1 as revision,
          e.id, e.type, e.data, e.meta
        from unnest(batches, ids, types, datas, metas) with ordinality as e (batch, id, type, data, meta, n)
        join appends a on a.n = e.batch and a.head = a.first - 1
        order by e.n
      ), stored as (
        insert into ${schema}.${logTableOf(service)} (position, stream, revision, id, type, data, meta)
        select nextval('${schema}.${POSITION_SEQUENCE}'), s.stream, s.revision, s.id, s.type, s.data, s.meta from sorted s
        returning stream, position
      ), lasts as (
        select s.stream, max(s.position) as position from stored s group by s.stream
      )
      select a.head, l.position from appends a left join lasts l on l.stream = a.stream order by a.n;
  end $$`

const tableText = (table: string): string => `
  create table ${table} (
    position bigint primary key,
    stream text collate "C" not null,
    revision integer not null,
    category text collate "C" not null generated always as (split_part(stream, '-', 1)) stored,
    id uuid not null,
    type text not null,
    data text not null,
    meta text not null,
    constraint ${table}_revision unique (stream, revision),
    constraint ${table}_id unique (id)
  )`

/**
 * Migrates the tables of all logs, in the database of the views or in a separate one. Splits the single log of an older release.
 */
export async function migrateEventLogs(views: Pick<Views, 'migrate'>, logs: EventLogs): Promise<void> {
  await migrateOneLog(views)
  await views.migrate('event_log positions', [
    (db) =>
      sql
        .raw(`create sequence ${POSITION_SEQUENCE}`)
        .execute(db)
        .then(() => undefined),
  ])
  for (const service of servicesOf(logs)) await views.migrate(`event log of ${service}`, [(db) => createLog(db, service)])
  await views.migrate('event_log split', splitSteps(logs))
}

async function createLog(db: Kysely<object>, service: string): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select quote_ident(current_schema()) as schema`.execute(db)
  const table = logTableOf(service)
  await sql.raw(tableText(table)).execute(db)
  await sql.raw(`create index ${table}_by_category on ${table} (category, position)`).execute(db)
  await sql.raw(appendFunctionText(rows[0]?.schema ?? 'public', service)).execute(db)
  await sql.raw(`revoke all on function ${appendFunctionOf(service)} from public`).execute(db)
}
