import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

export type Backup = {
  /** Puts it in the place of the data of a server that does not run. */
  restore(): void
  remove(): void
}

/** Made anew by every server at its start, or by the end of the backup. */
const NOT_KEPT = ['postmaster.pid', 'postmaster.opts', 'backup_label', 'tablespace_map', 'pg_wal']

/**
 * A base backup with the WAL that it needs, made while the server works: what `pg_basebackup` does, which does not come
 * with the programs that tests use.
 */
export async function baseBackup(url: string): Promise<Backup> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-backup-'))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    const data = rows[0]?.data_directory ?? ''
    await client.query("select pg_backup_start('a restore is tried', true)")
    const kept = readdirSync(data).filter((name) => !NOT_KEPT.includes(name))
    // Files that are made and dropped meanwhile are in the WAL; owners and rights have to be as they were.
    execFileSync('cp', ['-a', ...kept.map((name) => join(data, name)), folder], { stdio: 'ignore' })
    const stopped = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(folder, 'backup_label'), stopped.rows[0]?.labelfile ?? '')
    execFileSync('cp', ['-a', join(data, 'pg_wal'), folder])
    return {
      restore() {
        for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true })
        cpSync(folder, data, { recursive: true })
        execFileSync('chown', ['-R', `--reference=${data}`, data])
      },
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  } finally {
    await client.end()
  }
}
