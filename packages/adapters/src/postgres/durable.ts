import type { ConnectionPool } from './pool.ts'

type ServerSettings = { version: string; commit: string; fsync: string; pages: string; standby: boolean }

const MIN_VERSION = 14

/** Refuses a server whose settings may lose acknowledged events. @throws Error with the settings to change */
export async function checkDurable(pool: Pick<ConnectionPool, 'query'>): Promise<void> {
  const { rows } = await pool.query<ServerSettings>(`select current_setting('server_version_num') as version,
    current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as pages, pg_is_in_recovery() as standby`)
  const [server] = rows
  if (!server) throw new Error('PostgreSQL did not report its settings.')
  const faults = [
    Number(server.version) < MIN_VERSION * 10_000 && `it is older than version ${MIN_VERSION}`,
    server.standby && 'it is a standby and cannot be written to; use the address of the primary',
    server.commit === 'off' && 'synchronous_commit is off for this user or database; set it to on',
    server.fsync !== 'on' && 'fsync is off; switch it on',
    server.pages !== 'on' && 'full_page_writes is off; switch it on',
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw new Error(`This PostgreSQL cannot store facts safely: ${faults.join('; ')}.`)
}
