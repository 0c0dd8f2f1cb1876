import { SHADOW_SCHEMA } from '@penstock/adapters/postgres/read-models.ts'

const OPEN_FUNCTION = `create function open_read_models() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    drop schema if exists ${SHADOW_SCHEMA} cascade;
    create schema ${SHADOW_SCHEMA};
    execute format('grant usage, create on schema ${SHADOW_SCHEMA} to %I', session_user);
  end $$`

const DROP_FUNCTION = `create function drop_read_models() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    drop schema if exists ${SHADOW_SCHEMA} cascade;
  end $$`

const createExchangeFunction = (schema: string): string => `create function exchange_read_models(tables text[]) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  declare
    name text;
  begin
    foreach name in array tables loop
      if name !~ '^gateway_[a-z0-9_]+$' or not exists (
        select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '${SHADOW_SCHEMA}' and c.relname = name and c.relkind = 'r'
          and not exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
          and not exists (select from pg_rewrite r where r.ev_class = c.oid)
      ) then
        raise exception '% is no table of a read model', name;
      end if;
      execute format('drop table ${schema}.%I', name);
      execute format('alter table ${SHADOW_SCHEMA}.%I set schema ${schema}', name);
      execute format('alter table ${schema}.%I owner to %I', name, current_user);
      execute format('grant select, insert, update, delete on ${schema}.%I to %I', name, session_user);
    end loop;
  end $$`

/** SQL functions of an earlier release, in which the gateway's role created the shadow tables. */
export const createEarlierFunctions = (schema: string): readonly string[] => [
  OPEN_FUNCTION,
  createExchangeFunction(schema),
  DROP_FUNCTION,
]
