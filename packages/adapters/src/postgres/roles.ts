import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendOf, POSITIONS, sqlName, tableOf } from './event-logs.ts'
import { type Connection, openPool, type PostgresSettings } from './pool.ts'
import { READ_MODELS } from './read-models.ts'

/** What the role of a process may do with facts and tables. */
export type Part = {
  readonly service: string
  /** Services whose logs it reads. Its own is among them where it has one. */
  readonly reads: readonly string[]
  /** Whether it appends to a log of its own. */
  readonly appends: boolean
  /** Tables that are its alone, by their names and by what their names begin with. */
  readonly owns: readonly string[]
  readonly prefixes: readonly string[]
  /** Tables of another part that it may read. */
  readonly looksAt: readonly string[]
  /** Whether it shows and replays what any consumer has parked, and makes read models anew. */
  readonly operates: boolean
}

/** Tables in which each row is of one service, by the column that tells whose. */
const BY_SERVICE: Readonly<Record<string, string>> = {
  progress: 'consumer',
  progress_streams: 'consumer',
  progress_notes: 'consumer',
  timers: 'service',
  unfinished_streams: 'service',
  leases: 'name',
  bus_parked_keys: 'consumer',
  bus_parked_messages: 'consumer',
}
const ROWS = 'select, insert, update, delete'
/**
 * An operator's role may begin a replay of any key, and change its reason. Messages, and the consumer that a row is of, stay:
 * a message that somebody rewrote, or put in another consumer's name, would be handled as what its owner has said.
 */
const PARKED: Readonly<Record<string, string>> = {
  bus_parked_keys: 'select, insert, delete, update (reason, replaying)',
  bus_parked_messages: 'select, insert, delete',
}

export type Roles = {
  /** Stands before the names of services, so that several markets can share a server. */
  readonly prefix: string
  readonly parts: readonly Part[]
  /** A folder with a file for each service whose password is set, or a folder with a file `password`; empty: passwords are somebody else's matter. */
  readonly passwords: string
}

/** Any number will do that nobody else uses for a lock of the database. */
const ROLES_LOCK = 7_368_632_643
/** Whoever comes to a table behind a change of its rights waits for it too. */
const TABLE_WITHIN = '5s'

/**
 * Makes the roles, and gives each the rights of its part and no other: in one transaction, so that nobody is without theirs
 * in between. @param what rights at tables beside those at facts: not in a database that has nothing but facts
 */
export async function grantRoles(settings: PostgresSettings, roles: Roles, what: 'all' | 'facts'): Promise<void> {
  const { prefix, parts } = roles
  const passwords = await passwordsIn(roles.passwords)
  const pool = openPool({ ...settings, connections: 1 })
  const connection = await pool.connect()
  try {
    await connection.query('begin')
    await connection.query(`set local lock_timeout = '${TABLE_WITHIN}'`)
    await connection.query('select pg_advisory_xact_lock($1)', [ROLES_LOCK])
    await makeRoles(connection, prefix, parts, passwords)
    await grantLogs(connection, prefix, parts)
    if (what === 'all') await grantTables(connection, prefix, parts)
    await connection.query('commit')
  } catch (error) {
    await connection.query('rollback').catch(() => undefined)
    throw error
  } finally {
    connection.release()
    await pool.end()
  }
}

async function passwordsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  if (folder === '') return new Map()
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  // A folder of its own for each, where each is a volume of its own.
  const placeOf = (entry: Dirent): string => join(folder, entry.name, entry.isDirectory() ? 'password' : '')
  const read = async (entry: Dirent) => [entry.name, (await readFile(placeOf(entry), 'utf8')).trim()] as const
  return new Map(await Promise.all(entries.map(read)))
}

/** The name of a service's role. @throws RangeError where the prefix could not stand in SQL as it is */
export function roleOf(prefix: string, service: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(prefix)) throw new RangeError(`"${prefix}" cannot begin the name of a role`)
  return `${prefix}${sqlName(service)}`
}

/** Rights at facts, in the database that has the logs. Made anew each time: what an older release granted is taken back. */
async function grantLogs(connection: Connection, prefix: string, parts: readonly Part[]): Promise<void> {
  const services = parts.filter(({ appends }) => appends).map(({ service }) => service)
  for (const { service, reads, appends } of parts) {
    const role = roleOf(prefix, service)
    for (const log of services) {
      await connection.query(`revoke all on ${tableOf(log)} from ${role}`)
      await connection.query(`revoke all on function ${appendOf(log)} from ${role}`)
    }
    for (const log of reads) await connection.query(`grant select on ${tableOf(log)} to ${role}`)
    if (appends) await connection.query(`grant execute on function ${appendOf(service)} to ${role}`)
    await connection.query(`grant select on sequence ${POSITIONS} to ${role}`)
  }
}

/** Rights at all other tables: each role sees and writes its own rows where several services share a table. */
async function grantTables(connection: Connection, prefix: string, parts: readonly Part[]): Promise<void> {
  const roles = parts.map(({ service }) => roleOf(prefix, service)).join(', ')
  const { rows } = await connection.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema()',
  )
  const tables = rows.map(({ name }) => name)
  await connection.query(`grant select on schema_migrations to ${roles}`)
  for (const [table, column] of Object.entries(BY_SERVICE)) {
    if (!tables.includes(table)) continue
    await connection.query(`alter table ${table} enable row level security`)
    await policy(connection, table, 'of_service', `to ${roles} using (${isOf(prefix, column, parts)})`)
    if (PARKED[table]) await connection.query(`revoke update on ${table} from ${roles}`)
    await connection.query(`grant ${PARKED[table] ?? ROWS} on ${table} to ${roles}`)
  }
  for (const { service, owns, prefixes, looksAt, operates } of parts) {
    const role = roleOf(prefix, service)
    const named = tables.filter((table) => owns.includes(table) || prefixes.some((start) => table.startsWith(start)))
    for (const table of named) await connection.query(`grant ${ROWS} on ${table} to ${role}`)
    for (const table of tables.filter((one) => looksAt.includes(one)))
      await connection.query(`grant select on ${table} to ${role}`)
    if (!operates) continue
    for (const table of Object.keys(PARKED).filter((one) => tables.includes(one))) {
      await policy(connection, table, 'shown', `for select to ${role} using (true)`)
      await connection.query(`drop policy if exists replayed on ${table}`)
    }
    if (tables.includes('bus_parked_keys'))
      await policy(connection, 'bus_parked_keys', 'replayed', `for update to ${role} using (true)`)
    for (const name of READ_MODELS) await connection.query(`grant execute on function ${name} to ${role}`)
  }
}

async function policy(connection: Connection, table: string, name: string, text: string): Promise<void> {
  await connection.query(`drop policy if exists ${name} on ${table}`)
  await connection.query(`create policy ${name} on ${table} ${text}`)
}

/** Consumers, leases and services are named `relay.<service>`, `<service>`, `<service>.<more>` and `<service>@<owner>`. */
function isOf(prefix: string, column: string, parts: readonly Part[]): string {
  const cases = parts.map(({ service }) => {
    const own = `${column} in ('${service}', 'relay.${service}') or ${column} like '${service}.%' or ${column} like '${service}@%'`
    // The auditor's jobs are services by names of their own.
    const more = service === 'audit' ? ` or ${column} like 'audit-%' or ${column} like 'relay.audit-%'` : ''
    return `when '${roleOf(prefix, service)}' then ${own}${more}`
  })
  return `case current_user ${cases.join(' ')} else false end`
}

/**
 * Makes the roles that there are not, able to log in, and sets the passwords that are given.
 * @param passwords of services; one that is not given is left as it is
 */
async function makeRoles(
  connection: Connection,
  prefix: string,
  parts: readonly Part[],
  passwords: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { service } of parts) {
    const role = roleOf(prefix, service)
    const { rows } = await connection.query('select from pg_roles where rolname = $1', [role])
    if (rows.length === 0) await connection.query(`create role ${role} login`)
    const password = passwords.get(service)
    if (password !== undefined) {
      const { rows: quoted } = await connection.query<{ text: string }>('select quote_literal($1) as text', [password])
      await connection.query(`alter role ${role} login password ${quoted[0]?.text}`)
    }
    // What moves a rebuilt table to its place has to be a member of the role that made it.
    const { rows: me } = await connection.query<{ super: boolean }>(
      'select rolsuper as super from pg_roles where rolname = current_user',
    )
    if (me[0]?.super !== true) await connection.query(`grant ${role} to current_user`)
    await connection.query(`grant connect on database ${await quotedDatabase(connection)} to ${role}`)
    const { rows: schema } = await connection.query<{ name: string }>('select quote_ident(current_schema()) as name')
    await connection.query(`grant usage on schema ${schema[0]?.name} to ${role}`)
  }
}

async function quotedDatabase(connection: Connection): Promise<string> {
  const { rows } = await connection.query<{ name: string }>('select quote_ident(current_database()) as name')
  return rows[0]?.name ?? 'postgres'
}
