import type { PostgresConnection } from './pool.ts'
import { SHADOW_SCHEMA } from './read-models.ts'

/** An excess right of a role. `has` begins an error message about the right, and `text` is the statement that revokes it. */
type ExcessRight = { readonly has: string; readonly text: string }

const DATABASE = '(select d.oid from pg_database d where d.datname = current_database())'

/** The catalog's list of objects that depend on a role, with the identity of each object. */
const selectDependencies = (kind: 'a' | 'o'): string => `
  select r.oid as role, quote_ident(r.rolname) as name, d.classid, d.objid, i.type, i.schema, i.identity
  from pg_shdepend d join pg_roles r on r.oid = d.refobjid, pg_identify_object(d.classid, d.objid, 0) i
  where d.refclassid = 'pg_authid'::regclass and d.deptype = '${kind}' and r.rolname = any ($1)
    and d.dbid in (0, ${DATABASE}) and (i.type <> 'database' or d.objid = ${DATABASE})`

/**
 * Finds an object that a role owns. It ignores large objects, default privileges and temporary tables: every role can create
 * these, and they give no right to our objects. So a role cannot block a migration by them. Objects in other schemas are not
 * checked. In `views_beside` a gateway of the previous release may own tables, which the migration drops.
 */
const OWNED = `select format('The role %s owns the %s %s', name, type, identity) as has from (${selectDependencies('o')}) o
  where type not in ('large object', 'default acl')
    and (schema is null or schema = quote_ident(current_schema())) limit 1`

const ATTRIBUTES = `
  select format('The role %I is more than a role that logs in', rolname) as has,
    format('alter role %I', rolname) || case when rolsuper then ' nosuperuser' else '' end
      || case when rolcreaterole then ' nocreaterole' else '' end || case when rolcreatedb then ' nocreatedb' else '' end
      || case when rolreplication then ' noreplication' else '' end
      || case when rolbypassrls then ' nobypassrls' else '' end as text
  from pg_roles
  where rolname = any ($1) and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`

/** From version 16 on each membership is revoked in the name of its grantor. */
const MEMBERSHIPS = `
  select format('The role %I is a member of %I', m.rolname, r.rolname) as has,
    format('revoke %I from %I', r.rolname, m.rolname) || case when current_setting('server_version_num')::integer >= 160000
      then format(' granted by %I', g.rolname) else '' end || ' cascade' as text
  from pg_auth_members a join pg_roles m on m.oid = a.member join pg_roles r on r.oid = a.roleid
    left join pg_roles g on g.oid = a.grantor
  where m.rolname = any ($1)`

/**
 * Rights in another schema of Penstock, such as the schema with the facts, are revoked by a separate run. Rights on the tables of
 * a rebuild in progress stay.
 */
const RIGHTS = `
  select distinct format('The role %s has a right at the %s %s', name, type, identity) as has,
    format('revoke %s on %s %s from %s cascade', case type when 'schema' then 'create' else 'all' end,
      case when type in ('view', 'materialized view', 'foreign table') then 'table'
        when classid = 'pg_proc'::regclass then 'routine' when type = 'foreign-data wrapper' then 'foreign data wrapper'
        when type = 'server' then 'foreign server' when type = 'parameter ACL' then 'parameter' else type end,
      identity, name) as text
  from (${selectDependencies('a')}) o
  where type not in ('large object', 'default acl')
    and (schema is null or schema = quote_ident(current_schema()) or schema !~ '^pg_(toast_)?temp' and schema <> '${SHADOW_SCHEMA}'
      and not exists (select from pg_class m where m.relname = 'schema_migrations' and m.relnamespace = to_regnamespace(schema)))
    and (type <> 'schema' or exists (
      select from pg_namespace n, aclexplode(n.nspacl) x
      where n.oid = objid and x.grantee = role and x.privilege_type = 'CREATE'))`

/** Default privileges, which would give these roles rights at a future schema or table, directly or through PUBLIC. */
const DEFAULTS = `
  select format('%s has a right at what %I makes', case x.grantee when 0 then 'Everybody' else 'The role ' || g.grantee end,
      o.rolname) as has,
    format('alter default privileges for role %I', o.rolname)
      || case when n.oid is null then '' else format(' in schema %I', n.nspname) end
      || format(' revoke all on %s from %s cascade', case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences'
        when 'f' then 'functions' when 'T' then 'types' when 'n' then 'schemas' else 'large objects' end, g.grantee) as text
  from pg_default_acl d cross join aclexplode(d.defaclacl) x left join pg_roles r on r.oid = x.grantee
    cross join lateral (select case x.grantee when 0 then 'public' else quote_ident(r.rolname) end as grantee) g
    join pg_roles o on o.oid = d.defaclrole left join pg_namespace n on n.oid = d.defaclnamespace
  where o.rolname <> all ($1) and (n.oid is null or n.nspname = current_schema())
    and (r.rolname = any ($1) or x.grantee = 0 and o.rolname = current_user and d.defaclobjtype in ('r', 'S', 'n'))`

/** The roles share the rights of PUBLIC. Rights that an extension gave to PUBLIC stay. */
const PUBLIC_RIGHTS = `
  with ours as (
    select c.oid, c.relkind, c.relacl from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and c.relowner = (select u.oid from pg_roles u where u.rolname = current_user)
      and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
  )
  select distinct format('Everybody may create in the schema %I', n.nspname) as has,
    format('grant all on schema %I to %I; revoke create on schema %I from public', n.nspname, current_user, n.nspname) as text
  from pg_namespace n, aclexplode(n.nspacl) x
  where n.nspname = any (current_schemas(false)) and x.grantee = 0 and x.privilege_type = 'CREATE' and $1::text[] is not null
  union all
  select format('Everybody may create in the database %I', d.datname),
    format('revoke create on database %I from public', d.datname)
  from pg_database d, aclexplode(d.datacl) x
  where d.datname = current_database() and x.grantee = 0 and x.privilege_type = 'CREATE'
  union all
  select format('Everybody has a right at %s', oid::regclass),
    format('revoke all on %s %s from public cascade', case relkind when 'S' then 'sequence' else 'table' end, oid::regclass)
  from ours where exists (select from aclexplode(relacl) x where x.grantee = 0) or exists (
    select from pg_attribute t, aclexplode(t.attacl) x where t.attrelid = ours.oid and x.grantee = 0)
  union all
  select format('Everybody may call %s with the rights of its owner', p.oid::regprocedure),
    format('revoke all on routine %s from public cascade', p.oid::regprocedure)
  from pg_proc p
  where p.pronamespace = current_schema()::regnamespace and p.prosecdef
    and p.proowner = (select u.oid from pg_roles u where u.rolname = current_user)
    and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where x.grantee = 0)`

/**
 * Revokes all granted rights of the roles, so that the same transaction can grant the intended rights. This covers objects in our
 * schema, schemas, the database, memberships, attributes, and rights of PUBLIC.
 * @throws Error for a right that the migrating user may not revoke
 */
export async function revokeRights(connection: PostgresConnection, roles: readonly string[]): Promise<void> {
  await refuseOwners(connection, roles)
  for (const query of [ATTRIBUTES, MEMBERSHIPS, DEFAULTS, RIGHTS, PUBLIC_RIGHTS]) {
    const { rows } = await connection.query<ExcessRight>(query, [roles])
    for (const { has, text } of rows)
      await connection.query(text).catch((error: unknown) => {
        throw new Error(explainRefusal({ has, text }), { cause: error })
      })
    // The server only warns about a right that another role granted.
    const { rows: remaining } = await connection.query<ExcessRight>(query, [roles])
    if (remaining[0]) throw new Error(explainRefusal(remaining[0]))
  }
}

/**
 * Refuses roles that own objects. An owner decides with whose rights its object runs, so no other role could take the object over
 * safely.
 * @throws Error if one of the roles owns an object in our schema, or a schema
 */
export async function refuseOwners(connection: Pick<PostgresConnection, 'query'>, roles: readonly string[]): Promise<void> {
  const { rows: owned } = await connection.query<{ has: string }>(OWNED, [roles])
  if (owned[0]) throw new Error(`${owned[0].has}. Find out why, drop it, and migrate again.`)
}

const explainRefusal = ({ has, text }: ExcessRight): string =>
  `${has}, and the user that migrates may not take that away. As a superuser run: ${text}; where another role granted it, take it from that one. Then migrate again.`

/** Drops the policies of a table that concern these roles, regardless of their creator. */
export async function dropPolicies(connection: PostgresConnection, table: string, roles: readonly string[]): Promise<void> {
  const { rows } = await connection.query<{ name: string }>(
    `select quote_ident(p.polname) as name from pg_policy p where p.polrelid = $1::regclass and (0 = any (p.polroles)
      or exists (select from pg_roles r where r.rolname = any ($2) and r.oid = any (p.polroles)))`,
    [table, roles],
  )
  for (const { name } of rows) await connection.query(`drop policy ${name} on ${table}`)
}
