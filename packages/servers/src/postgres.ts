import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { stopProcess } from '@penstock/child-processes/stop.ts'
import { findFreePort } from './free-port.ts'
import { findPostgresPrograms, findProcessUser, type ProcessUser } from './postgres-programs.ts'
import { readOrCreate } from './read-or-create.ts'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'

export type PostgresOptions = {
  /** The folder of the data, the port and the password. By default it is a temporary folder, which `stop` removes. */
  readonly dir?: string
  /** Settings of the server. They override our defaults. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** The timeout of a start, without the recovery after a crash. */
  readonly readyWithinMs?: number
  /** Aborts a start. */
  readonly signal?: AbortSignal
}

/** The databases of a running server. */
export type PostgresDatabases = {
  /** A `postgres://` URL with the password. The call does not create the database. */
  url(database?: string): string
  /** Creates an empty database, or a copy of one that has no connections. @returns its URL */
  createDatabase(name?: string, template?: string): Promise<string>
}

export type PostgresServer = PostgresDatabases & {
  readonly port: number
  /** The file with the server's output. */
  readonly logFile: string
  /** Undefined while the server does not run. */
  readonly pid: number | undefined
  /** Starts after `shutDown` or `kill`, on the same port with the same data. It resolves when queries are answered. */
  start(signal?: AbortSignal): Promise<void>
  /** Whether the server answers. A refusal because it starts, stops or has no free connection is an answer, too. */
  answers(): Promise<boolean>
  /** A fast shutdown: it ends all sessions and writes all data. A server that does not stop in time is killed. */
  shutDown(): Promise<void>
  /** SIGKILL: leaves the data as after a crash. */
  kill(): Promise<void>
  /** Stops a server that got SIGTERM from another process, and that would wait for its open sessions without limit. */
  endIfStopping(): Promise<void>
  /** Stops the server permanently. The data stay if `dir` was given. */
  stop(): Promise<void>
}

const USER = 'penstock'
const READY_WITHIN_MS = 60_000
const INITIALISED_WITHIN_MS = 300_000
const POLL_EVERY_MS = 50

/**
 * Starts a real PostgreSQL 18 as a child of this process, on loopback. It ends with this process, even by kill -9.
 * The programs come in npm packages. PostgreSQL does not run as root, so a root process starts it as the user `postgres`.
 */
export async function startPostgres({
  dir,
  settings = {},
  readyWithinMs,
  signal,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = dir ?? (await mkdtemp(join(tmpdir(), 'penstock-postgres-')))
  await mkdir(folder, { recursive: true })
  const user = await findProcessUser()
  const programs = await findPostgresPrograms(user)
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
  const port = Number(await readOrCreate(join(folder, 'port'), async () => String(await findFreePort())))
  const password = await readOrCreate(join(folder, 'password'), async () => randomBytes(16).toString('hex'))
  if (!existsSync(join(folder, 'data', 'PG_VERSION'))) await initialise(programs.initdb, folder, user)
  const args = ['-D', join(folder, 'data'), '-p', String(port), ...toFlags({ ...DEFAULT_SETTINGS, ...settings })]
  const databases = openPostgresDatabases(`postgres://${USER}:${password}@127.0.0.1:${port}/postgres`)
  const logFile = join(folder, 'postgres.log')
  const server = createServerProcess(programs.postgres, args, logFile, user)

  const start = async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    const kill = (): void => void server.end('SIGKILL')
    signal?.addEventListener('abort', kill, { once: true })
    try {
      await server.start(() => queryState(databases.url()), readyWithinMs)
    } finally {
      signal?.removeEventListener('abort', kill)
    }
  }
  try {
    await start(signal)
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
    ...databases,
    start,
    answers: async () => (await queryState(databases.url())) !== 'silent',
    shutDown: () => server.end('SIGINT'),
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

/** @param superuserUrl a URL of any database of the server, with the password of a superuser */
export function openPostgresDatabases(superuserUrl: string): PostgresDatabases {
  const url = (database = 'postgres'): string => new URL(`/${database}`, superuserUrl).href
  return {
    url,
    async createDatabase(name = `test_${randomBytes(6).toString('hex')}`, template = 'template1') {
      await query(url(), `create database ${name} template ${template}`)
      return url(name)
    },
  }
}

/** Commits are flushed as in production. The other settings are small, for many servers on one machine. */
const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  max_wal_size: '1GB',
  log_min_messages: 'warning',
} as const

const toFlags = (settings: Readonly<Record<string, string | number>>): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

async function initialise(initdb: string, folder: string, user: ProcessUser): Promise<void> {
  const flags = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--no-sync']
  const access = [`--username=${USER}`, '--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`]
  if (user.uid !== undefined && user.gid !== undefined) await chown(join(folder, 'password'), user.uid, user.gid)
  // The folder is created under another name and renamed, because an incomplete folder would look complete.
  const partial = join(folder, 'data.partial')
  await rm(partial, { recursive: true, force: true })
  await promisify(execFile)(initdb, [`--pgdata=${partial}`, ...access, ...flags], { ...user, timeout: INITIALISED_WITHIN_MS })
  await rename(partial, join(folder, 'data'))
}

/** Reads the server's lock file, which has the process id in the first line and the state in the eighth. */
async function isStopping(data: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'stopping'
}

function createServerProcess(program: string, args: readonly string[], logFile: string, user: ProcessUser) {
  let child: ChildProcess | undefined
  let shouldRun = false

  async function start(readState: () => Promise<State>, withinMs = READY_WITHIN_MS): Promise<void> {
    shouldRun = true
    const log = await open(logFile, 'a')
    let deadline = performance.now() + withinMs
    try {
      while (performance.now() < deadline) {
        if (!shouldRun) throw new Error('PostgreSQL was stopped while it started')
        if (!child || child.exitCode !== null || child.signalCode !== null) child = spawnServer(log.fd)
        const state = await readState()
        if (state === 'serves') return
        // Recovery after a crash may take longer, and a restarted server would have to repeat it.
        if (state === 'recovers') deadline = performance.now() + withinMs
        // Sessions of a killed server end with a delay, and a new server cannot start before that.
        await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS))
      }
    } finally {
      await log.close()
    }
    await end('SIGKILL')
    throw new Error(`PostgreSQL did not start:\n${(await readFile(logFile, 'utf8')).slice(-4000)}`)
  }

  function spawnServer(logFd: number): ChildProcess {
    // The output goes to a file, because a server that outlives this process for a moment must be able to write. The server
    // is detached: a Ctrl-C in the terminal must not reach it, because its clients stop first.
    const stdio: ('ignore' | number)[] = ['ignore', logFd, logFd]
    const started = spawn(program, args, { ...user, stdio, detached: true, env: { ...process.env, LC_ALL: 'C' } })
    if (started.pid !== undefined) killWithParent(started, 'QUIT')
    return started
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    shouldRun = false
    if (child) await stopProcess(child, signal)
  }

  return { pid: () => (child?.exitCode === null && child.signalCode === null ? child.pid : undefined), start, end }
}

/** `recovers`: the server accepts no sessions yet. `refuses`: the server answers with an error. */
type State = 'serves' | 'recovers' | 'refuses' | 'silent'

const CANNOT_CONNECT_NOW = '57P03'

const queryState = (url: string): Promise<State> =>
  query(url, 'select 1').then(
    () => 'serves',
    (error: unknown) => {
      if (!(error instanceof pg.DatabaseError)) return 'silent'
      return error.code === CANNOT_CONNECT_NOW ? 'recovers' : 'refuses'
    },
  )

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
