import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendFunctionOf, POSITION_SEQUENCE, toSqlName, logTableOf } from './event-logs.ts'
import { type PostgresConnection, openConnectionPool, type PostgresSettings } from './pool.ts'
import { READ_MODEL_FUNCTIONS } from './read-models.ts'
import { dropPolicies, refuseOwners, revokeRights } from './revoke-rights.ts'

/** The rights on facts and tables of one database role, with which the processes of a service log in. */
export type DatabasePermissions = {
  readonly service: string
  /** Services whose logs the role reads, with the role's own log if it has one. */
  readonly readableLogs: readonly string[]
  /** Whether the role appends to a log of its own. */
  readonly mayAppend: boolean
  /** Tables that only this role uses, by their names and by prefixes of their names. */
  readonly ownedTables: readonly string[]
  readonly ownedTablePrefixes: readonly string[]
  /** Tables of other services that the role may read. */
  readonly readableTables: readonly string[]
  /** Whether the role may show and replay parked keys of any consumer, and rebuild read models. */
  readonly isOperator: boolean
}

/** Tables in which each row belongs to one service, with the column that names the service. */
const SERVICE_COLUMNS: Readonly<Record<string, string>> = {
  progress: 'consumer',
  progress_streams: 'consumer',
  progress_notes: 'consumer',
  timers: 'service',
  unfinished_streams: 'service',
  handled_commands: 'service',
  leases: 'name',
  bus_parked_keys: 'consumer',
  bus_parked_messages: 'consumer',
}
const ROW_RIGHTS = 'select, insert, update, delete'
/**
 * An operator's role may begin a replay of any parked key, and change the recorded reason of the parking. It may not change
 * messages or the consumer of a row, because a forged message would be handled as if its owner had sent it.
 */
const PARKED_RIGHTS: Readonly<Record<string, string>> = {
  bus_parked_keys: 'select, insert, delete, update (reason, replaying)',
  bus_parked_messages: 'select, insert, delete',
}

export type RoleOptions = {
  /** Prefix of the role names, so that several markets can share a server. */
  readonly prefix: string
  /** The permissions of each service's role. */
  readonly permissions: readonly DatabasePermissions[]
  /**
   * A folder with the passwords to set: for each service a file `<service>` or a file `<service>/password`. If empty, passwords
   * are managed elsewhere.
   */
  readonly passwords: string
}

/** An arbitrary number that no other advisory lock of the database uses. */
const ROLES_LOCK = 7_368_632_643
/** Limits the wait for a table lock, since other statements queue behind a waiting change of rights. */
const LOCK_TIMEOUT = '5s'

/**
 * Creates the roles, and gives each role exactly its permissions. One transaction does both, so that no role lacks its rights
 * meanwhile.
 * @throws Error if a role has or owns something that the user of the url may not revoke
 */
export async function grantRoles(settings: PostgresSettings, roles: RoleOptions): Promise<void> {
  const { prefix, permissions } = roles
  const names = permissions.map(({ service }) => roleNameOf(prefix, service))
  const passwords = await readPasswords(roles.passwords)
  const pool = openConnectionPool({ ...settings, connections: 1 })
  const connection = await pool.connect()
  try {
    await connection.query('begin')
    await connection.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
    await connection.query('select pg_advisory_xact_lock($1)', [ROLES_LOCK])
    await createRoles(connection, prefix, permissions, passwords)
    await revokeRights(connection, names)
    await grantAccess(connection, names)
    await grantLogs(connection, prefix, permissions)
    await grantTables(connection, prefix, permissions)
    await connection.query('commit')
  } catch (error) {
    await connection.query('rollback').catch(() => undefined)
    throw error
  } finally {
    connection.release()
    await pool.end()
  }
}

/**
 * Checks ownership before the migration creates a table, because a schema of a role could precede ours in the search path.
 * @throws Error if a role owns an object in our schema, or a schema
 */
export async function checkOwners(
  settings: PostgresSettings,
  { prefix, permissions }: Pick<RoleOptions, 'prefix' | 'permissions'>,
): Promise<void> {
  const pool = openConnectionPool({ ...settings, connections: 1 })
  try {
    await refuseOwners(
      pool,
      permissions.map(({ service }) => roleNameOf(prefix, service)),
    )
  } finally {
    await pool.end()
  }
}

async function readPasswords(folder: string): Promise<ReadonlyMap<string, string>> {
  if (folder === '') return new Map()
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  // If each password is a separate mount, each service has a folder.
  const passwordPathOf = (entry: Dirent): string => join(folder, entry.name, entry.isDirectory() ? 'password' : '')
  const read = async (entry: Dirent) => [entry.name, (await readFile(passwordPathOf(entry), 'utf8')).trim()] as const
  return new Map(await Promise.all(entries.map(read)))
}

/** The role name of a service. @throws RangeError if the prefix would need quotes in SQL */
export function roleNameOf(prefix: string, service: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(prefix)) throw new RangeError(`"${prefix}" cannot begin the name of a role`)
  return `${prefix}${toSqlName(service)}`
}

/** Grants rights on facts, in the database that has the logs. */
async function grantLogs(
  connection: PostgresConnection,
  prefix: string,
  permissions: readonly DatabasePermissions[],
): Promise<void> {
  for (const { service, readableLogs, mayAppend } of permissions) {
    const role = roleNameOf(prefix, service)
    for (const log of readableLogs) await connection.query(`grant select on ${logTableOf(log)} to ${role}`)
    if (mayAppend) await connection.query(`grant execute on function ${appendFunctionOf(service)} to ${role}`)
    await connection.query(`grant select on sequence ${POSITION_SEQUENCE} to ${role}`)
  }
}

/** Grants rights on all other tables. In a shared table each role sees and writes only its own rows. */
async function grantTables(
  connection: PostgresConnection,
  prefix: string,
  permissions: readonly DatabasePermissions[],
): Promise<void> {
  const names = permissions.map(({ service }) => roleNameOf(prefix, service))
  const roles = names.join(', ')
  const { rows } = await connection.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema()',
  )
  const tables = rows.map(({ name }) => name)
  // Without this table the database contains only facts.
  if (!tables.includes('progress')) return
  await connection.query(`grant select on schema_migrations to ${roles}`)
  for (const [table, column] of Object.entries(SERVICE_COLUMNS)) {
    if (!tables.includes(table)) continue
    await connection.query(`alter table ${table} enable row level security`)
    await dropPolicies(connection, table, names)
    await replacePolicy(connection, table, 'of_service', `to ${roles} using (${ownershipCondition(prefix, column, permissions)})`)
    await connection.query(`grant ${PARKED_RIGHTS[table] ?? ROW_RIGHTS} on ${table} to ${roles}`)
  }
  for (const { service, ownedTables, ownedTablePrefixes, readableTables, isOperator } of permissions) {
    const role = roleNameOf(prefix, service)
    const owned = tables.filter(
      (table) => ownedTables.includes(table) || ownedTablePrefixes.some((start) => table.startsWith(start)),
    )
    for (const table of owned) await connection.query(`grant ${ROW_RIGHTS} on ${table} to ${role}`)
    const { rows: sequences } = await connection.query<{ name: string }>(SEQUENCES, [owned])
    for (const { name } of sequences) await connection.query(`grant usage on sequence ${name} to ${role}`)
    for (const table of tables.filter((one) => readableTables.includes(one)))
      await connection.query(`grant select on ${table} to ${role}`)
    if (!isOperator) continue
    for (const table of Object.keys(PARKED_RIGHTS).filter((one) => tables.includes(one)))
      await replacePolicy(connection, table, 'shown', `for select to ${role} using (true)`)
    if (tables.includes('bus_parked_keys'))
      await replacePolicy(connection, 'bus_parked_keys', 'replayed', `for update to ${role} using (true)`)
    for (const name of READ_MODEL_FUNCTIONS) await connection.query(`grant execute on function ${name} to ${role}`)
  }
}

/** Sequences that number a column of these tables. */
const SEQUENCES = `select s.oid::regclass::text as name from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
  where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a'
    and d.refobjid = any ($1::regclass[])`

async function replacePolicy(connection: PostgresConnection, table: string, name: string, text: string): Promise<void> {
  await connection.query(`drop policy if exists ${name} on ${table}`)
  await connection.query(`create policy ${name} on ${table} ${text}`)
}

/**
 * Builds the condition for a role's own rows. Rows of a service name the service, a part of it (`<service>.<part>`), its consumer
 * of another service's facts (`<service>@<other service>`), or its relay (`relay.<service>`).
 */
function ownershipCondition(prefix: string, column: string, permissions: readonly DatabasePermissions[]): string {
  const cases = permissions.map(({ service }) => {
    const own = `${column} in ('${service}', 'relay.${service}') or ${column} like '${service}.%' or ${column} like '${service}@%'`
    // The jobs of the auditor count as services with names of their own.
    const more = service === 'audit' ? ` or ${column} like 'audit-%' or ${column} like 'relay.audit-%'` : ''
    return `when '${roleNameOf(prefix, service)}' then ${own}${more}`
  })
  return `case current_user ${cases.join(' ')} else false end`
}

/**
 * Creates missing roles with the right to log in, and sets the given passwords.
 * @param passwords by service; a service without an entry keeps its password
 */
async function createRoles(
  connection: PostgresConnection,
  prefix: string,
  permissions: readonly DatabasePermissions[],
  passwords: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { service } of permissions) {
    const role = roleNameOf(prefix, service)
    const { rows } = await connection.query('select from pg_roles where rolname = $1', [role])
    if (rows.length === 0) await connection.query(`create role ${role} login`)
    const password = passwords.get(service)
    if (password !== undefined) {
      const { rows: quoted } = await connection.query<{ text: string }>('select quote_literal($1) as text', [password])
      await connection.query(`alter role ${role} login password ${quoted[0]?.text}`)
    }
  }
}

/** Lets each role connect to the database and use the schema. */
async function grantAccess(connection: PostgresConnection, names: readonly string[]): Promise<void> {
  const { rows } = await connection.query<{ database: string; schema: string }>(
    'select quote_ident(current_database()) as database, quote_ident(current_schema()) as schema',
  )
  for (const { database, schema } of rows) {
    await connection.query(`grant connect on database ${database} to ${names.join(', ')}`)
    await connection.query(`grant usage on schema ${schema} to ${names.join(', ')}`)
  }
}
