import { chmodSync, existsSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'

/** The files of an embedded installation. Only the owner may read the folder, because it contains keys. */
export type DataDir = {
  readonly path: string
  readonly market: string
  readonly views: string
  readonly records: string
  readonly webhooks: string
  readonly simnet: string
  readonly operatorToken: string
  readonly agents: string
}

/**
 * Opens a data folder for a process that writes to it. From then on, only the owner can read new files of the process.
 * @throws ConfigError with the command to run if other users have access to the folder
 */
export function openDataDir(path: string): DataDir {
  process.umask(0o077)
  const agents = join(path, 'agents')
  mkdirSync(agents, { recursive: true, mode: 0o700 })
  assertPrivateFolder(path, statSync(path))
  restrictDatabases(path)
  return {
    path,
    market: join(path, 'market.db'),
    views: join(path, 'views.db'),
    records: join(path, 'records.db'),
    webhooks: join(path, 'webhooks.db'),
    simnet: join(path, 'simnet.db'),
    operatorToken: join(path, 'operator.token'),
    agents,
  }
}

/** @throws ConfigError if users outside this process's groups have permissions on the folder */
function assertPrivateFolder(path: string, { mode, uid, gid }: Stats): void {
  if (!process.getuid || !process.getgroups || !process.getegid) return // The system has no such permissions.
  const isOwnGroup = gid === process.getegid() || process.getgroups().includes(gid)
  // Kubernetes creates a volume with root as owner and the pod's fsGroup as group, and the pod cannot change its mode.
  const isPodVolume = uid === 0 && process.getuid() !== 0 && isOwnGroup && (mode & 0o2000) !== 0
  if (!isOwnGroup && (mode & 0o077) !== 0)
    throw new ConfigError(`The data folder ${path} is open to other users; run as its owner: chmod -R go-rwx '${path}'`)
  if (!isPodVolume && (mode & 0o007) !== 0)
    throw new ConfigError(`The data folder ${path} is open to other users; run as its owner: chmod -R o-rwx '${path}'`)
}

/** Removes the access of other users to databases and SQLite logs that were created under a wider umask. */
function restrictDatabases(path: string): void {
  for (const name of readdirSync(path).filter((one) => /\.db(-wal|-shm)?$/.test(one))) {
    const file = join(path, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found && found.uid === process.getuid?.() && (found.mode & 0o007) !== 0) chmodSync(file, found.mode & 0o770)
  }
}

/** The folder with the data of a cluster's servers. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'cluster')

/**
 * A folder always belongs to one market: its agents' journals, log heads and simulated network match the facts of one store.
 * @throws ConfigError if the folder belongs to another market than the one to start
 */
export function assertSameMarket(
  { path, market, simnet }: DataDir,
  kind: 'standalone' | 'cluster',
  { lightning }: Pick<Config, 'lightning'>,
): void {
  const [other, marker] = kind === 'cluster' ? ['npm start', market] : ['npm run cluster', clusterFolder(path)]
  if (existsSync(marker))
    throw new ConfigError(
      `${path} contains the market of "${other}"; set PENSTOCK_DATA_DIR to another folder, for this market and for the commands that you run on it.`,
    )
  if (lightning === 'lnd' && existsSync(simnet))
    throw new ConfigError(`${path} is of a market on the simulated network; set PENSTOCK_DATA_DIR to another folder.`)
}

/** The Unix socket of the launcher of a cluster on this machine. */
export const clusterSocket = (dataDir: string): string => join(dataDir, 'cluster.sock')

/** The Unix socket of the launcher of a Lightning network on this machine. */
export const regtestSocket = (dataDir: string): string => join(dataDir, 'regtest.sock')
