import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDataDir, assertSameMarket, regtestSocket } from '@penstock/config/data-dir.ts'
import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { lockDataDir } from '@penstock/config/data-dir-lock.ts'
import type { Config } from '@penstock/config/config.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { grantRails } from '@penstock/standalone/grant-rails.ts'
import { waitForSellers } from '@penstock/standalone/demo.ts'
import {
  type SupervisedProcess,
  superviseProcess,
  waitUntilProcessReady,
  type PrintLine,
} from '../launcher/process-supervisor.ts'
import { openControlSocket } from '../launcher/control-socket.ts'
import type { PlannedProcess } from '../launcher/plan.ts'
import { toReachableHost } from '@penstock/config/reachable-host.ts'
import { waitForFreePort } from '../launcher/wait-for-free-port.ts'
import { waitForAll } from '../launcher/wait-for-all.ts'
import { MACHINE_CLOCK } from './clock.ts'
import { type SellerAgents, createCommandHandler } from './commands.ts'
import { type RegtestNetwork, startRegtestNetwork } from './network.ts'
import { planAgent, planMarket } from './plan.ts'

export type RegtestOptions = {
  /** Settings that every process gets in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

export type Regtest = {
  readonly url: string
  readonly network: RegtestNetwork
  readonly agents: SellerAgents
  /** The market and the agents that are not stopped. */
  processes(): readonly Pick<SupervisedProcess, 'name' | 'pid'>[]
  stop(): Promise<void>
}

/** Five nodes on a busy machine start slowly. */
const SELLERS_TIMEOUT_MS = 300_000
const MARKET_TIMEOUT_MS = 60_000
const RETRY_DELAY_MS = 250
const START_TIMEOUT_MS = 100_000

/**
 * Starts a local Lightning network of real nodes, with the market and two sellers. Resolves when a channel can be bought. A
 * process that ends is restarted. The data stay in the folder, and the next launch continues with them.
 */
export async function launchRegtest(
  config: Config,
  { env = {} }: RegtestOptions,
  printLine: PrintLine,
  signal: AbortSignal,
): Promise<Regtest> {
  const dir = openDataDir(config.dataDir)
  assertSameMarket(dir, 'standalone', { lightning: 'lnd' })
  const folder = join(dir.path, 'regtest')
  const lock = lockDataDir(openDataDir(folder))
  const started: { close(): Promise<void> }[] = [{ close: async () => lock.release() }]
  const stop = async (): Promise<void> => {
    for (const one of started.toReversed()) await one.close()
    started.length = 0
  }
  try {
    const commandHandler = Promise.withResolvers<ReturnType<typeof createCommandHandler>>()
    commandHandler.promise.catch(() => undefined)
    started.push(
      await openControlSocket(regtestSocket(dir.path), async (command) => {
        const handleCommand = await withStartTimeout(commandHandler.promise)
        return handleCommand(command)
      }),
    )
    started.push({ close: async () => commandHandler.reject(new Error('The network is being stopped.')) })
    const { host } = config
    const port = config.port || (await findFreePort())
    await waitForFreePort({ host, port }, signal)
    const starting = startRegtestNetwork(folder, printLine, signal)
    await waitForAll({ 'btcd and lnd': starting }, printLine)
    const network = await starting
    started.push({ close: network.stop })
    const url = `http://${toReachableHost(host)}:${port}`
    const settings = { folder, dataDir: dir.path, host, port, url, env }
    const market = superviseProcess(await planMarket(network, settings), printLine)
    started.push({ close: () => market.stop() })
    const agents = startAgents(
      await Promise.all(network.nodesWithRole('seller').map((one, index) => planAgent(one, index, settings))),
      printLine,
    )
    started.push({ close: () => agents.close() })
    await waitForAll({ market: waitUntilProcessReady(market, signal) }, printLine)
    const token = resolveOperatorToken(dir, config, { uuid: throwNoToken, random: throwNoToken })
    for (const { info } of network.nodesWithRole('seller'))
      await retryUntilTimeout(() => grantRails({ url, token }, info.pubkey), signal)
    await waitForAll({ sellers: waitForSellers(url, MACHINE_CLOCK, signal, SELLERS_TIMEOUT_MS) }, printLine)
    commandHandler.resolve(createCommandHandler(network, agents))
    return { url, network, agents, stop, processes: () => [market, ...agents.running()] }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Waits for the command handler, which exists once the network runs.
 * @throws Error after 100 s, before the command line times out after 110 s
 */
async function withStartTimeout<T>(handler: Promise<T>): Promise<T> {
  const timeoutOver = new AbortController()
  const timeout = sleep(START_TIMEOUT_MS, undefined, { signal: timeoutOver.signal }).then(() => {
    throw new Error('The network is still starting; the first time its programs are built. Ask again in a moment.')
  })
  timeout.catch(() => undefined) // when it loses the race, its rejection has no other handler
  try {
    return await Promise.race([handler, timeout])
  } finally {
    timeoutOver.abort()
  }
}

/** Retries, because a market may end and be restarted soon after its start. */
async function retryUntilTimeout(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (const end = performance.now() + MARKET_TIMEOUT_MS; ; await sleep(RETRY_DELAY_MS)) {
    try {
      return await attempt()
    } catch (error) {
      if (signal.aborted || performance.now() > end) throw error
    }
  }
}

/** Never called in a correct launch, because the market has already made its token. */
function throwNoToken(): never {
  throw new Error("the market has no operator's token")
}

type RunningAgents = SellerAgents & { running(): readonly SupervisedProcess[]; close(): Promise<void> }

function startAgents(planned: readonly PlannedProcess[], printLine: PrintLine): RunningAgents {
  const running = new Map<string, SupervisedProcess>()
  const start = (one: PlannedProcess): void => {
    if (!running.has(one.name)) running.set(one.name, superviseProcess(one, printLine))
  }
  const findAgent = (alias: string): PlannedProcess => {
    const one = planned.find(({ name }) => name === alias)
    if (one) return one
    throw new Error(`There is no seller ${alias}; there are ${planned.map(({ name }) => name).join(', ')}.`)
  }
  planned.forEach(start)
  return {
    start: (alias) => start(findAgent(alias)),
    async stop(alias) {
      const child = running.get(findAgent(alias).name)
      running.delete(alias)
      await child?.stop()
    },
    running: () => [...running.values()],
    close: async () => void (await Promise.all([...running.values()].map((child) => child.stop()))),
  }
}
