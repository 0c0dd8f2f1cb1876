import type { Pool } from './pool.ts'

type Server = { version: string; commit: string; fsync: string; pages: string; standby: boolean }

const OLDEST = 14

/**
 * What is acknowledged must be on disk, so a server that is set to lose it is refused.
 * @throws Error with what to change
 */
export async function checkDurable(pool: Pick<Pool, 'query'>): Promise<void> {
  const { rows } = await pool.query<Server>(`select current_setting('server_version_num') as version,
    current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as pages, pg_is_in_recovery() as standby`)
  const [server] = rows
  if (!server) throw new Error('PostgreSQL says nothing about itself.')
  const faults = [
    Number(server.version) < OLDEST * 10_000 && `it is older than version ${OLDEST}`,
    server.standby && 'it is a standby and cannot be written to; name the primary',
    server.commit === 'off' && 'synchronous_commit is off for this user or database; set it to on',
    server.fsync !== 'on' && 'fsync is off; switch it on',
    server.pages !== 'on' && 'full_page_writes is off; switch it on',
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw new Error(`This PostgreSQL cannot keep facts: ${faults.join('; ')}.`)
}
