import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ids } from '@penstock/ports/clock.ts'
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

export function openDataDir(path: string): DataDir {
  const agents = join(path, 'agents')
  mkdirSync(agents, { recursive: true, mode: 0o700 })
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

/**
 * The token of operators' routes: the configured one, or one that is made at the first start and stays.
 * @throws Error where a file was named that holds none: an empty token would let everybody in
 */
export function operatorToken(
  dir: DataDir,
  { operatorToken: configured, operatorTokenFile }: Pick<Config, 'operatorToken' | 'operatorTokenFile'>,
  ids: Ids,
): string {
  if (operatorTokenFile !== '') {
    const token = readFileSync(operatorTokenFile, 'utf8').trim()
    if (token === '') throw new Error(`PENSTOCK_OPERATOR_TOKEN_FILE names ${operatorTokenFile}, which is empty.`)
    return token
  }
  if (configured !== '') return configured
  if (!existsSync(dir.operatorToken)) makeToken(dir.operatorToken, ids)
  return readFileSync(dir.operatorToken, 'utf8').trim()
}

/** Written beside and linked into place: of two gateways that start at once one wins, and both know the same token. */
function makeToken(path: string, ids: Ids): void {
  const beside = `${path}.${ids.uuid()}`
  writeFileSync(beside, `${Buffer.from(ids.random(32)).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(beside, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    unlinkSync(beside)
  }
}

/** Where the launcher of a cluster on this machine answers. */
export const clusterSocket = (dataDir: string): string => join(dataDir, 'cluster.sock')

/** Where the launcher of a Lightning network on this machine answers. */
export const regtestSocket = (dataDir: string): string => join(dataDir, 'regtest.sock')
