import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'

/** The schema in which read models are made anew. */
export const BESIDE = 'views_beside'

/** Functions with the rights of the tables' owner, for roles that may not make schemas. */
export const READ_MODELS = ['open_read_models()', 'exchange_read_models(text[])', 'drop_read_models()'] as const

const OPEN = `create function open_read_models() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    drop schema if exists ${BESIDE} cascade;
    create schema ${BESIDE};
    execute format('grant usage, create on schema ${BESIDE} to %I', session_user);
  end $$`

const DROP = `create function drop_read_models() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    drop schema if exists ${BESIDE} cascade;
  end $$`

/** It exchanges plain tables of read models only, since the caller made the tables that take their place. */
const exchange = (schema: string): string => `create function exchange_read_models(tables text[]) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  declare
    name text;
  begin
    foreach name in array tables loop
      if name !~ '^gateway_[a-z0-9_]+$' or not exists (
        select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '${BESIDE}' and c.relname = name and c.relkind = 'r'
          and not exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
          and not exists (select from pg_rewrite r where r.ev_class = c.oid)
      ) then
        raise exception '% is no table of a read model', name;
      end if;
      execute format('drop table ${schema}.%I', name);
      execute format('alter table ${BESIDE}.%I set schema ${schema}', name);
      execute format('alter table ${schema}.%I owner to %I', name, current_user);
      execute format('grant select, insert, update, delete on ${schema}.%I to %I', name, session_user);
    end loop;
  end $$`

export const migrateReadModels = (views: Pick<Views, 'migrate'>): Promise<void> =>
  views.migrate('read models beside', [
    async (db) => {
      const { rows } = await sql<{ schema: string }>`select quote_ident(current_schema()) as schema`.execute(db)
      for (const text of [OPEN, exchange(rows[0]?.schema ?? 'public'), DROP]) await sql.raw(text).execute(db)
      for (const name of READ_MODELS) await sql.raw(`revoke all on function ${name} from public`).execute(db)
    },
  ])
