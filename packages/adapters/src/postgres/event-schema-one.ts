import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'

/** The released text, which must never change. */
const APPEND = `
  create function append_to_event_log(
    streams text[], firsts integer[], batches integer[], ids uuid[], types text[], datas text[], metas text[]
  ) returns table (head integer, last_position bigint) language plpgsql as $$
  declare
    base bigint;
    grown text;
  begin
    perform pg_advisory_xact_lock('event_log'::regclass::oid::bigint);
    select coalesce(max(position), 0) into base from event_log;
    return query
      with appends as materialized (
        select a.n, a.stream, a.first,
          coalesce((select max(l.revision) from event_log l where l.stream = a.stream), -1) as head
        from unnest(streams, firsts) with ordinality as a (stream, first, n)
      ), stored as (
        insert into event_log (position, stream, revision, id, type, data, meta)
        select base + row_number() over (order by e.n), a.stream,
          a.first + (row_number() over (partition by e.batch order by e.n))::integer - 1, e.id, e.type, e.data, e.meta
        from unnest(batches, ids, types, datas, metas) with ordinality as e (batch, id, type, data, meta, n)
        join appends a on a.n = e.batch and a.head = a.first - 1
        returning stream, position
      ), lasts as (
        select s.stream, max(s.position) as position from stored s group by s.stream
      )
      select a.head, l.position from appends a left join lasts l on l.stream = a.stream order by a.n;
    select string_agg(distinct split_part(s, '-', 1), ',') into grown from unnest(streams) s;
    perform pg_notify('event_log', case when length(grown) < 4000 then grown else '' end);
  end $$`

const TABLE = `
  create table event_log (
    position bigint primary key,
    stream text collate "C" not null,
    revision integer not null,
    category text collate "C" not null generated always as (split_part(stream, '-', 1)) stored,
    id uuid not null,
    type text not null,
    data text not null,
    meta text not null,
    constraint event_log_revision unique (stream, revision),
    constraint event_log_id unique (id)
  )`

/** Creates the single log of all services, as the first releases did. Later steps migrate it. */
export const migrateOneLog = (views: Pick<Views, 'migrate'>): Promise<void> =>
  views.migrate('event_log', [
    async (db) => {
      await sql.raw(TABLE).execute(db)
      await sql.raw('create index event_log_by_category on event_log (category, position)').execute(db)
      await sql.raw(APPEND).execute(db)
    },
  ])
