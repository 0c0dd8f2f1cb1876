import type { Migration, Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { MIGRATION_LOCK } from './views.ts'

/** The schema in which read models are rebuilt. */
export const SHADOW_SCHEMA = 'views_beside'

/** Functions with the rights of the tables' owner, for roles that may not create schemas. */
export const READ_MODEL_FUNCTIONS = ['open_read_models()', 'exchange_read_models(text[])', 'drop_read_models()'] as const

/** Tables that a rebuild needs in addition to the read models: its progress, and the migration steps of its tables. */
const COMPANION_TABLES = `'schema_migrations', 'progress', 'progress_streams', 'progress_notes'`

/**
 * Options of the functions that run with the rights of the tables' owner. They use only qualified names and names of the catalog,
 * and ignore the caller's settings for new tables. So no code of the caller runs with the owner's rights.
 */
const AS_OWNER = `language plpgsql security definer
  set search_path = pg_catalog, pg_temp set default_tablespace = '' set default_table_access_method = heap
  set quote_all_identifiers = off as`

const CURRENT_USER_OID = `(select r.oid from pg_roles r where r.rolname = current_user)`

/** Prevents a migration until the transaction ends, because the migrating job holds this lock while it changes tables. */
const REQUIRE_NO_MIGRATION = `if not pg_try_advisory_xact_lock_shared(${MIGRATION_LOCK}) then
      raise exception 'the tables are being migrated; begin the rebuild again afterwards';
    end if;`

/**
 * Creates the tables of a rebuild. The owner creates them in their present shape. The caller may fill them, but cannot add an
 * index, a default or a trigger, and cannot create other objects. Indexes keep their names, because migrations refer to them.
 */
const openFunction = (schema: string): string => `create or replace function open_read_models() returns void ${AS_OWNER} $$
  declare
    source record;
    part record;
  begin
    ${REQUIRE_NO_MIGRATION}
    drop schema if exists ${SHADOW_SCHEMA} cascade;
    create schema ${SHADOW_SCHEMA};
    execute format('grant usage on schema ${SHADOW_SCHEMA} to %I', session_user);
    for source in
      select c.oid, c.relname as name from pg_class c
      where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
        and not c.relispartition and c.relowner = ${CURRENT_USER_OID}
        and (c.relname ~ '^gateway_[a-z0-9_]+$' or c.relname in (${COMPANION_TABLES}))
    loop
      if exists (select from pg_constraint o where source.oid in (o.conrelid, o.confrelid) and o.contype = 'f') then
        raise exception 'the table % has a foreign key, which its copy cannot have', source.name;
      end if;
      execute format('create table ${SHADOW_SCHEMA}.%I (like ${schema}.%I including all excluding indexes excluding statistics)',
        source.name, source.name);
      for part in
        select o.conname as name, pg_get_constraintdef(o.oid) as text from pg_constraint o
        where o.conrelid = source.oid and o.contype in ('p', 'u', 'x')
      loop
        execute format('alter table ${SHADOW_SCHEMA}.%I add constraint %I %s', source.name, part.name, part.text);
      end loop;
      for part in
        select c.relname as name, case when i.indisunique then 'unique' end as kind, pg_get_indexdef(c.oid) as text
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = source.oid
          and not exists (select from pg_constraint o where o.conindid = c.oid and o.conrelid = source.oid)
      loop
        execute format('create %s index %I on ${SHADOW_SCHEMA}.%I %s', part.kind, part.name, source.name,
          substr(part.text, strpos(part.text, ' USING ')));
      end loop;
      for part in
        select s.relname as name, a.attname as col, format_type(q.seqtypid, null) as kind, q.seqincrement as step
        from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_sequence q on q.seqrelid = s.oid
          join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a'
          and d.refobjid = source.oid
      loop
        execute format('create sequence ${SHADOW_SCHEMA}.%I as %s increment %s owned by ${SHADOW_SCHEMA}.%I.%I',
          part.name, part.kind, part.step, source.name, part.col);
        execute format('alter table ${SHADOW_SCHEMA}.%I alter column %I set default nextval(%L)',
          source.name, part.col, format('${SHADOW_SCHEMA}.%I', part.name));
        execute format('grant usage on sequence ${SHADOW_SCHEMA}.%I to %I', part.name, session_user);
      end loop;
      execute format('grant select, insert, update, delete on ${SHADOW_SCHEMA}.%I to %I', source.name, session_user);
    end loop;
    insert into ${SHADOW_SCHEMA}.schema_migrations select * from ${schema}.schema_migrations;
    execute format('revoke insert, update, delete on ${SHADOW_SCHEMA}.schema_migrations from %I', session_user);
  end $$`

/**
 * Replaces tables by the copies that `openFunction` created. It refuses a copy that the owner did not create. After a migration
 * it refuses all copies, because the swap would undo the migration.
 */
const swapFunction = (schema: string): string => `
  create or replace function exchange_read_models(tables text[]) returns void ${AS_OWNER} $$
  declare
    name text;
    copies constant text[] := array(
      select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = '${SHADOW_SCHEMA}' and n.nspowner = ${CURRENT_USER_OID} and c.relkind = 'r' and c.relowner = ${CURRENT_USER_OID}
        and not c.relhastriggers and not c.relhasrules and not c.relrowsecurity
    );
  begin
    ${REQUIRE_NO_MIGRATION}
    if 'schema_migrations' <> all (copies) then
      raise exception 'no rebuild was begun';
    end if;
    if exists (select * from ${schema}.schema_migrations except select * from ${SHADOW_SCHEMA}.schema_migrations) then
      raise exception 'the tables were migrated meanwhile; begin the rebuild again';
    end if;
    foreach name in array tables loop
      if name is null or name !~ '^gateway_[a-z0-9_]+$' or name <> all (copies) or not exists (
        select from pg_class c
        where c.relnamespace = '${schema}'::regnamespace and c.relname = name and c.relkind = 'r' and c.relowner = ${CURRENT_USER_OID}
      ) then
        raise exception '% is no table of a read model', name;
      end if;
      execute format('drop table ${schema}.%I', name);
      execute format('alter table ${SHADOW_SCHEMA}.%I set schema ${schema}', name);
    end loop;
  end $$`

const DROP_FUNCTION = `create or replace function drop_read_models() returns void ${AS_OWNER} $$
  begin
    drop schema if exists ${SHADOW_SCHEMA} cascade;
  end $$`

/** Refuses tables with temporary objects, because a temporary function in an index would run with the owner's rights. */
const refuseTemporary = (schema: string): string => `do $$
  declare
    found record;
  begin
    select c.relname as name, i.identity into found
    from pg_class c cross join lateral (
      select 'pg_class'::regclass as class, c.oid as part
      union all select 'pg_class'::regclass, x.indexrelid from pg_index x where x.indrelid = c.oid
      union all select 'pg_attrdef'::regclass, x.oid from pg_attrdef x where x.adrelid = c.oid
      union all select 'pg_constraint'::regclass, x.oid from pg_constraint x where x.conrelid = c.oid
      union all select 'pg_trigger'::regclass, x.oid from pg_trigger x where x.tgrelid = c.oid
      union all select 'pg_policy'::regclass, x.oid from pg_policy x where x.polrelid = c.oid
    ) p join pg_depend d on d.classid = p.class and d.objid = p.part
      cross join lateral pg_identify_object(d.refclassid, d.refobjid, 0) i
    where c.relnamespace = '${schema}'::regnamespace and c.relname ~ '^gateway_' and i.schema ~ '^pg_temp'
    -- An index comes after its table.
    order by c.relname limit 1;
    if found is not null then
      raise exception 'the table % is made of %, which a session brought; end the sessions of the gateway and migrate again',
        found.name, found.identity;
    end if;
  end $$`

/** Creates the functions. First drops the schema of a rebuild, because the owner cannot trust tables that a gateway created. */
const buildOwnerStatements = (schema: string): readonly string[] => [
  `drop schema if exists ${SHADOW_SCHEMA} cascade`,
  refuseTemporary(schema),
  openFunction(schema),
  swapFunction(schema),
  DROP_FUNCTION,
]

const migrateFunctions: Migration = async (db) => {
  const { rows } = await sql<{ schema: string }>`select quote_ident(current_schema()) as schema`.execute(db)
  for (const text of buildOwnerStatements(rows[0]?.schema ?? 'public')) await sql.raw(text).execute(db)
  for (const name of READ_MODEL_FUNCTIONS) await sql.raw(`revoke all on function ${name} from public`).execute(db)
}

/**
 * The second step replaces functions that let the caller create the tables. The functions of the third step do not wait for a
 * running migration, and that step refuses temporary objects in the tables.
 */
export const migrateReadModels = (views: Pick<Views, 'migrate'>): Promise<void> =>
  views.migrate('read models beside', [migrateFunctions, migrateFunctions, migrateFunctions])
