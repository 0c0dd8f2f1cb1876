import { chmodSync, existsSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'

/** The files of an embedded installation. Only its owner may look into the folder, since keys are in it. */
export type DataDir = {
  readonly path: string
  readonly market: string
  readonly views: string
  readonly records: string
  readonly simnet: string
  readonly operatorToken: string
  readonly agents: string
}

/**
 * Opens a data folder for a process that writes into it; from here on that process makes files for its owner only.
 * @throws ConfigError with the command to run, where the folder is open to others
 */
export function openDataDir(path: string): DataDir {
  process.umask(0o077)
  const agents = join(path, 'agents')
  mkdirSync(agents, { recursive: true, mode: 0o700 })
  refuseOpenFolder(path, statSync(path))
  closeDatabases(path)
  return {
    path,
    market: join(path, 'market.db'),
    views: join(path, 'views.db'),
    records: join(path, 'records.db'),
    simnet: join(path, 'simnet.db'),
    operatorToken: join(path, 'operator.token'),
    agents,
  }
}

/** @throws ConfigError where users outside of this process's groups have rights on the folder */
function refuseOpenFolder(path: string, { mode, uid, gid }: Stats): void {
  if (!process.getuid || !process.getgroups || !process.getegid) return // a system without such rights
  const isOwnGroup = gid === process.getegid() || process.getgroups().includes(gid)
  // Kubernetes makes a volume with root as owner and gives it to the pod's fsGroup; the pod cannot change its mode.
  const isPodVolume = uid === 0 && process.getuid() !== 0 && isOwnGroup && (mode & 0o2000) !== 0
  if (!isOwnGroup && (mode & 0o077) !== 0)
    throw new ConfigError(`The data folder ${path} is open to other users; run as its owner: chmod -R go-rwx '${path}'`)
  if (!isPodVolume && (mode & 0o007) !== 0)
    throw new ConfigError(`The data folder ${path} is open to other users; run as its owner: chmod -R o-rwx '${path}'`)
}

/** Databases made under a wider umask stay readable for others, as do the logs that SQLite makes beside them. */
function closeDatabases(path: string): void {
  for (const name of readdirSync(path).filter((one) => /\.db(-wal|-shm)?$/.test(one))) {
    const file = join(path, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found && found.uid === process.getuid?.() && (found.mode & 0o007) !== 0) chmodSync(file, found.mode & 0o770)
  }
}

/** What a cluster's servers keep. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'cluster')

/**
 * A folder is of one market for good: its agents' journals, log heads and simulated network go with the facts of one store.
 * @throws ConfigError where it is of another market than is to be run on it
 */
export function refuseOtherMarket(
  { path, market, simnet }: DataDir,
  kind: 'standalone' | 'cluster',
  { lightning }: Pick<Config, 'lightning'>,
): void {
  const [other, sign] = kind === 'cluster' ? ['npm start', market] : ['npm run cluster', clusterFolder(path)]
  if (existsSync(sign))
    throw new ConfigError(
      `${path} holds the market of "${other}"; set PENSTOCK_DATA_DIR to another folder, for this market and for the commands that you give it.`,
    )
  if (lightning === 'lnd' && existsSync(simnet))
    throw new ConfigError(`${path} is of a market on the simulated network; set PENSTOCK_DATA_DIR to another folder.`)
}

/** Where the launcher of a cluster on this machine answers. */
export const clusterSocket = (dataDir: string): string => join(dataDir, 'cluster.sock')

/** Where the launcher of a Lightning network on this machine answers. */
export const regtestSocket = (dataDir: string): string => join(dataDir, 'regtest.sock')
