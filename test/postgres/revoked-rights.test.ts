import { appendFunctionOf, logTableOf } from '@penstock/adapters/postgres/event-logs.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { useMarketDatabase, TEST_ROLE_PREFIX, PROCESS_PERMISSIONS } from './market-database.ts'
import { makeUnique, sharedPostgres } from './server.ts'

const DATABASE = makeUnique('market')
const GATEWAY = `${TEST_ROLE_PREFIX}gateway`
const market = useMarketDatabase(() => sharedPostgres.createDatabase(DATABASE))
const { asSuperuser } = market

/** Lists all rights of our roles and of PUBLIC in the server's catalog. */
const listRights = async (): Promise<readonly string[]> => {
  const rows = await asSuperuser(`
    with given (what, acl) as (
      select 'relation ' || c.oid::regclass, c.relacl from pg_class c
        where c.relnamespace in ('public'::regnamespace, 'pg_catalog'::regnamespace)
      union all select 'column ' || a.attrelid::regclass || '.' || a.attname, a.attacl from pg_attribute a
        where a.attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
      union all select 'routine ' || p.oid::regprocedure, p.proacl from pg_proc p
      union all select 'schema ' || n.nspname, n.nspacl from pg_namespace n
      union all select 'database', d.datacl from pg_database d where d.datname = current_database()
      union all select 'type ' || t.oid::regtype, t.typacl from pg_type t where t.typacl is not null
      union all select 'parameter ' || p.parname, p.paracl from pg_parameter_acl p
      union all select 'tablespace ' || t.spcname, t.spcacl from pg_tablespace t
      union all select 'language ' || l.lanname, l.lanacl from pg_language l
      union all select 'wrapper ' || w.fdwname, w.fdwacl from pg_foreign_data_wrapper w
      union all select 'server ' || w.srvname, w.srvacl from pg_foreign_server w
      union all select 'default ' || d.defaclobjtype::text, d.defaclacl from pg_default_acl d
    )
    select what || ': ' || x.privilege_type || ' to ' || case x.grantee when 0 then 'everybody' else pg_get_userbyid(x.grantee) end as line
    from given, aclexplode(acl) x
    where x.grantee = 0 and what not like '% pg_%' and what not like '%information_schema%'
      or pg_get_userbyid(x.grantee) like '${TEST_ROLE_PREFIX}%'
    union all select 'member of ' || m.roleid::regrole || ': ' || m.member::regrole from pg_auth_members m
      where m.member::regrole::text like '${TEST_ROLE_PREFIX}%'
    union all select 'attributes of ' || rolname || ': ' || rolsuper || rolcreaterole || rolcreatedb || rolreplication || rolbypassrls
      from pg_roles where rolname like '${TEST_ROLE_PREFIX}%'
    union all select 'policy ' || p.polname || ' on ' || p.polrelid::regclass from pg_policy p
    order by 1`)
  // PUBLIC may use plpgsql by default, but the catalog lists this right only after another grant for the language.
  return rows.map(({ line }) => String(line)).filter((line) => line !== 'language plpgsql: USAGE to everybody')
}

const GRANTS: readonly (readonly [kind: string, ...texts: readonly string[]])[] = [
  ['a table', `grant all on gateway_accounts to ${TEST_ROLE_PREFIX}settlement with grant option`],
  ['a table of another grantor', `set role ${GATEWAY}`, `grant select on gateway_sessions to ${TEST_ROLE_PREFIX}quote`],
  ['a column', `grant update (body) on bus_parked_messages to ${GATEWAY}`],
  ['a log', `grant insert, delete on ${logTableOf('settlement')} to ${GATEWAY}`],
  ['all logs', `grant select on event_log to ${TEST_ROLE_PREFIX}quote`],
  ['a sequence', `grant update on sequence event_log_position to ${GATEWAY}`],
  ['a function', `grant execute on function ${appendFunctionOf('settlement')} to ${GATEWAY}`],
  ['a function of the server', `grant execute on function pg_read_file(text) to ${GATEWAY}`],
  ['a view of the server', `grant select on pg_authid to ${GATEWAY}`],
  ['the schema', `grant create on schema public to ${GATEWAY}`],
  ['another schema', 'create schema if not exists others', `grant usage, create on schema others to ${GATEWAY}`],
  ['the database', `grant create, temporary on database ${DATABASE} to ${GATEWAY}`],
  [
    'a type',
    'create type mood as enum ()',
    'revoke usage on type mood from public',
    `grant usage on type mood to ${GATEWAY} with grant option`,
  ],
  ['a setting of superusers', `grant set on parameter session_replication_role to ${GATEWAY}`],
  ['a tablespace', `grant create on tablespace pg_default to ${GATEWAY}`],
  ['a language', `grant usage on language plpgsql to ${GATEWAY} with grant option`],
  [
    'other servers',
    'create foreign data wrapper far',
    'create server away foreign data wrapper far',
    `grant usage on foreign data wrapper far to ${GATEWAY}`,
    `grant usage on foreign server away to ${GATEWAY}`,
  ],
  ['later tables', `alter default privileges grant all on tables to ${GATEWAY}`],
  ['later functions in the schema', `alter default privileges in schema public grant execute on functions to ${GATEWAY}`],
  ['later tables for everybody', 'alter default privileges grant select on tables to public'],
  ['later schemas for everybody', 'alter default privileges grant create on schemas to public'],
  ['a membership in a role of ours', `grant ${TEST_ROLE_PREFIX}settlement to ${GATEWAY} with admin option`],
  ['a membership in a role of the server', `grant pg_read_all_data, pg_execute_server_program to ${GATEWAY}`],
  ['an attribute', `alter role ${GATEWAY} bypassrls`],
  ['every attribute', `alter role ${GATEWAY} superuser createrole createdb replication bypassrls`],
  ['rows of others', `create policy more on timers to ${GATEWAY} using (true)`],
  ['rows of others, for everybody', 'create policy all_of_them on progress using (true)'],
  ['tables that everybody may read', 'grant select on records, event_log to public'],
  ['a column that everybody may read', 'grant select (json) on records to public'],
  ['a function that everybody may call', `grant execute on function exchange_read_models(text[]) to public`],
  ['the schema for objects of everybody', 'grant create on schema public to public'],
  ['the database for schemas of everybody', `grant create on database ${DATABASE} to public`],
]

describe('an additional right of a service’s role', () => {
  const leftovers = ['type if exists mood', 'schema if exists others cascade', 'foreign data wrapper if exists far cascade']
  afterEach(() => asSuperuser(...leftovers.map((name) => `drop ${name}`)))

  test.each(GRANTS)('is revoked by the next migration: %s', async (kind, ...texts) => {
    const before = await listRights()
    if (kind === 'a table of another grantor')
      await asSuperuser(`grant select on gateway_sessions to ${GATEWAY} with grant option`)
    await asSuperuser(...texts)
    expect(await listRights()).not.toEqual(before)
    await market.migrate()
    // A migration leaves the right to use a foreign schema, and revokes the right to create objects there.
    expect((await listRights()).filter((line) => !line.startsWith('schema others: USAGE'))).toEqual(before)
    for (const { service } of PROCESS_PERMISSIONS) expect(await market.queryAs(service, 'select from progress limit 0')).toBe(0)
  })
})

test('a migration fails and names a right that another user granted, because only that user may revoke it', async () => {
  const reporter = makeUnique('reporter')
  await asSuperuser(
    `create role ${reporter}`,
    `grant select on gateway_sessions to ${reporter} with grant option`,
    `set role ${reporter}`,
    `grant select on gateway_sessions to ${TEST_ROLE_PREFIX}quote`,
  )
  await expect(market.migrate()).rejects.toThrow(
    `The role ${TEST_ROLE_PREFIX}quote has a right at the table public.gateway_sessions, and the user that migrates may not take that away.`,
  )
  await asSuperuser(`drop owned by ${reporter} cascade`, `drop role ${reporter}`)
  await market.migrate()
})

test('a migration fails if a role owns an object, because an owner can change the code of the object', async () => {
  await asSuperuser(
    `create function mine() returns integer language sql as 'select 1'`,
    `alter function mine() owner to ${GATEWAY}`,
  )
  await expect(market.migrate()).rejects.toThrow(`The role ${GATEWAY} owns the function public.mine().`)
  await asSuperuser('drop function mine()', `create schema penstock authorization ${GATEWAY}`)
  // PostgreSQL would search a schema with this name before our schema.
  await expect(market.migrate()).rejects.toThrow(`The role ${GATEWAY} owns the schema penstock.`)
  await asSuperuser('drop schema penstock')
  await market.migrate()
})

test('a migration accepts objects and defaults that a role creates for itself', async () => {
  expect(await market.queryAs('gateway', 'select lo_create(0)')).toBe(1)
  const defaultGrant = `alter default privileges grant all on tables to ${TEST_ROLE_PREFIX}settlement`
  expect(await market.queryAs('gateway', defaultGrant)).toBe(null)
  await market.migrate()
})
