import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { runSuccessfullySync } from '../support/processes.ts'

export type BaseBackup = {
  /** Replaces the data of the stopped server by this backup. */
  restore(): void
  remove(): void
}

/** The server creates these files at its start, or the end of the backup writes them. */
const EXCLUDED_FILES = ['postmaster.pid', 'postmaster.opts', 'backup_label', 'tablespace_map', 'pg_wal']

/**
 * Makes a base backup and copies its WAL while the server runs, as `pg_basebackup` does. The PostgreSQL that tests use has no
 * `pg_basebackup`.
 */
export async function createBaseBackup(url: string): Promise<BaseBackup> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-backup-'))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    const dataDirectory = rows[0]?.data_directory ?? ''
    await client.query("select pg_backup_start('a restore is tried', true)")
    const names = readdirSync(dataDirectory).filter((name) => !EXCLUDED_FILES.includes(name))
    // The WAL repairs files that change during the copy. `-a` preserves owners and permissions.
    runSuccessfullySync('cp', ['-a', ...names.map((name) => join(dataDirectory, name)), folder])
    const backupEnd = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(folder, 'backup_label'), backupEnd.rows[0]?.labelfile ?? '')
    runSuccessfullySync('cp', ['-a', join(dataDirectory, 'pg_wal'), folder])
    return {
      restore() {
        for (const name of readdirSync(dataDirectory)) rmSync(join(dataDirectory, name), { recursive: true })
        cpSync(folder, dataDirectory, { recursive: true })
        runSuccessfullySync('chown', ['-R', `--reference=${dataDirectory}`, dataDirectory])
      },
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  } finally {
    await client.end()
  }
}
