import { join } from 'node:path'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type MarketAccess, readOrder, type PurchasedOrder } from '../../support/market-client.ts'
import type { DockerEngine } from '../../support/docker/engine.ts'
import { COMPOSE_ROOT } from '../compose.ts'
import { buildComposePrograms } from '../programs/compose.ts'
import { type ProgramResult, runSuccessfully } from '../../support/processes.ts'

const COMPOSE_PROJECT = 'penstock-test'
const UP_TIMEOUT_MS = 600_000

/** An address that no container can reach. The command line has to find the market without it. */
const PUBLIC_URL = 'https://market.invalid'

type Settings = Readonly<Record<string, string>>
/** The market of docker-compose.yml on the Docker engine of the tests. */
export type ComposeMarket = MarketAccess & {
  compose(args: readonly string[], settings?: Settings): Promise<ProgramResult>
  /** Starts stopped services, recreates changed services, and waits until all services are healthy. */
  up(args?: readonly string[], settings?: Settings): Promise<ProgramResult>
  /** Runs a program in a container. @returns what it printed */
  exec(service: string, ...program: readonly string[]): Promise<string>
  psql(sql: string): Promise<string>
  /** The containers of one service, or of all services. */
  containers(service?: string): Promise<readonly DockerContainer[]>
  /** Kills the first process of each service's containers, and waits until the engine has restarted them. */
  kill(...services: readonly string[]): Promise<void>
  logs(service: string): Promise<string>
}

export type DockerContainer = {
  readonly Id: string
  readonly RestartCount: number
  readonly State: { readonly Pid: number; readonly Running: boolean; readonly Health?: { readonly Status: string } }
  readonly HostConfig: { readonly ReadonlyRootfs: boolean }
  readonly Config: { readonly Labels: Readonly<Record<string, string>> }
}

export const getServiceName = ({ Config }: DockerContainer): string => Config.Labels['com.docker.compose.service'] ?? ''
export const getVolumeName = (name: string): string => `${COMPOSE_PROJECT}_${name}`

export async function createComposeMarket(engine: DockerEngine): Promise<ComposeMarket> {
  const program = join(await buildComposePrograms(), 'docker-compose')
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const files = ['docker-compose.yml', 'test/deploy/containers/override.yml'].flatMap((name) => [
    '--file',
    join(COMPOSE_ROOT, name),
  ])
  const baseEnv = { ...process.env, ...engine.env, TEST_PORT: `${port}`, PENSTOCK_PUBLIC_URL: PUBLIC_URL, TAG: 'test' }
  const compose = (args: readonly string[], settings: Settings = {}): Promise<ProgramResult> =>
    runSuccessfully(program, ['--project-name', COMPOSE_PROJECT, '--project-directory', COMPOSE_ROOT, ...files, ...args], {
      env: { ...baseEnv, ...settings },
      timeout: UP_TIMEOUT_MS,
    })
  const containers = async (service?: string): Promise<readonly DockerContainer[]> => {
    const ids = (await compose(['ps', '--all', '--quiet', ...(service === undefined ? [] : [service])])).stdout.trim()
    if (ids === '') return []
    return JSON.parse(await engine.docker('inspect', ...ids.split('\n'))) as readonly DockerContainer[] // from docker
  }
  const exec = async (service: string, ...programArgs: readonly string[]): Promise<string> =>
    (await compose(['exec', '-T', service, ...programArgs])).stdout.trim()
  return {
    url,
    compose,
    containers,
    exec,
    up: (args = [], settings = {}) => compose(['up', '--wait', ...args], settings),
    psql: (sql) => exec('postgres', 'psql', '--username=postgres', '--tuples-only', '--no-align', `--command=${sql}`, 'penstock'),
    logs: async (service) => (await compose(['logs', '--no-log-prefix', service])).stdout,
    async kill(...services) {
      const found = (await Promise.all(services.map((name) => containers(name)))).flat()
      for (const { State } of found) process.kill(State.Pid, 'SIGKILL')
      const restartCounts = new Map(found.map(({ Id, RestartCount }) => [Id, RestartCount]))
      const isRestarted = ({ Id, RestartCount, State }: DockerContainer): boolean =>
        RestartCount > (restartCounts.get(Id) ?? Infinity) && State.Running && (State.Health?.Status ?? 'healthy') === 'healthy'
      // The health is not enough, because the engine still reports a container as healthy right after its end.
      const areRestarted = async () => (await containers()).filter(isRestarted).length === restartCounts.size
      await waitUntil(`${services.join(', ')} have restarted`, areRestarted, 120_000, 500)
    },
    async operator(method, path, body) {
      const token = await exec('gateway', 'cat', '/run/secrets/operator/token')
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}/operator${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text}`)
      return JSON.parse(text) as never // the caller states the type of the response
    },
  }
}

const SALE_TIMEOUT_MS = 300_000
/** Statuses in which a test mines. In earlier statuses, blocks would use up the seller's time to publish its funding. */
const CONFIRMING = ['WAITING_FOR_ON_CHAIN_CONFIRMATION', 'ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL']

/** Mines block by block while an order waits for confirmations, until all orders have one of these statuses. */
export async function mineUntil(
  market: ComposeMarket,
  orders: readonly PurchasedOrder[],
  statusesWanted: readonly string[],
): Promise<void> {
  const checkAndMine = async (): Promise<boolean> => {
    const statuses = await Promise.all(orders.map(async (one) => (await readOrder(market, one)).status))
    if (statuses.some((status) => CONFIRMING.includes(status))) await market.operator('POST', '/sim/mine', { blocks: 1 })
    return statuses.every((status) => statusesWanted.includes(status))
  }
  await waitUntil(`orders are ${statusesWanted.join(' or ')}`, checkAndMine, SALE_TIMEOUT_MS, 500)
}

/** Mines while the demonstration's order waits for confirmations, until the log says that its channel is sold. */
export async function mineUntilDemonstrationSold(market: ComposeMarket): Promise<void> {
  const hasSold = async (): Promise<boolean> => {
    const lines = await market.logs('sellers')
    if (/demonstration failed|did not end/.test(lines)) throw new Error(lines)
    if (/^Sold: /m.test(lines)) return true
    if (lines.includes(' WAITING_FOR_ON_CHAIN_CONFIRMATION ')) await market.operator('POST', '/sim/mine', { blocks: 1 })
    return false
  }
  await waitUntil('the demonstration has bought a channel', hasSold, SALE_TIMEOUT_MS, 500)
}
