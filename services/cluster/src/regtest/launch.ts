import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDataDir, operatorToken, regtestSocket } from '@penstock/platforms/data-dir.ts'
import { lockDataDir } from '@penstock/platforms/lock.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { grantRails } from '@penstock/standalone/grant-rails.ts'
import { sellersHaveCome } from '@penstock/standalone/demo.ts'
import { type Child, keepRunning, ready, type Tell } from '../launcher/child.ts'
import { openDoor } from '../launcher/door.ts'
import type { Planned } from '../launcher/plan.ts'
import { type Agents, commandsOf } from './commands.ts'
import { type Network, startNetwork } from './network.ts'
import { agentOf, marketOn } from './plan.ts'

export type RegtestOptions = {
  /** Settings of every process beside those of this one. */
  readonly env?: Readonly<Record<string, string>>
}

export type Regtest = {
  readonly url: string
  readonly network: Network
  readonly agents: Agents
  /** The market and the agents that are not sent away. */
  processes(): readonly Pick<Child, 'name' | 'pid'>[]
  stop(): Promise<void>
}

/** Five nodes that start on a busy machine take their time. */
const SELLERS_WITHIN_MS = 300_000

/**
 * A real Lightning network on this machine with the market and two sellers on it. It resolves when something can be bought;
 * what dies is started again. The data stay in the folder, and the next launch goes on with them.
 */
export async function launchRegtest(
  config: Config,
  { env = {} }: RegtestOptions,
  tell: Tell,
  over: AbortSignal,
): Promise<Regtest> {
  const dir = openDataDir(config.dataDir)
  if (existsSync(dir.simnet))
    throw new ConfigError(`${dir.path} is of a market on the simulated network; set PENSTOCK_DATA_DIR to another folder.`)
  const folder = join(dir.path, 'regtest')
  const lock = lockDataDir(openDataDir(folder))
  const begun: { close(): Promise<void> }[] = [{ close: async () => lock.release() }]
  const stop = async (): Promise<void> => {
    for (const one of begun.toReversed()) await one.close()
    begun.length = 0
  }
  try {
    // Who asks early is answered when everything stands.
    const answer = Promise.withResolvers<ReturnType<typeof commandsOf>>()
    answer.promise.catch(() => undefined)
    begun.push(await openDoor(regtestSocket(dir.path), async (asked) => (await answer.promise)(asked)))
    begun.push({ close: async () => answer.reject(new Error('The network is being stopped.')) })
    const network = await startNetwork(folder, tell, over)
    begun.push({ close: network.stop })
    const port = config.port || (await freePort())
    const url = config.url || `http://127.0.0.1:${port}`
    const place = { folder, dataDir: dir.path, port, url, env }
    const market = keepRunning(await marketOn(network, place), tell)
    begun.push({ close: () => market.stop() })
    const agents = agentsOf(await Promise.all(network.having('seller').map((one, index) => agentOf(one, index, place))), tell)
    begun.push({ close: () => agents.close() })
    await ready(market, over)
    const token = operatorToken(dir, config, { uuid: notMade, random: notMade })
    for (const { info } of network.having('seller')) await grantRails({ url, token }, info.pubkey)
    await sellersHaveCome(url, { now: Date.now, sleep: (ms) => sleep(ms) }, over, SELLERS_WITHIN_MS)
    answer.resolve(commandsOf(network, agents))
    return { url, network, agents, stop, processes: () => [market, ...agents.running()] }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The market has made its token by then. */
function notMade(): never {
  throw new Error("the market has no operator's token")
}

type Kept = Agents & { running(): readonly Child[]; close(): Promise<void> }

function agentsOf(planned: readonly Planned[], tell: Tell): Kept {
  const running = new Map<string, Child>()
  const start = (one: Planned): void => {
    if (!running.has(one.name)) running.set(one.name, keepRunning(one, tell))
  }
  const called = (alias: string): Planned => {
    const one = planned.find(({ name }) => name === alias)
    if (one) return one
    throw new Error(`There is no seller ${alias}; there are ${planned.map(({ name }) => name).join(', ')}.`)
  }
  planned.forEach(start)
  return {
    start: (alias) => start(called(alias)),
    async stop(alias) {
      const child = running.get(called(alias).name)
      running.delete(alias)
      await child?.stop()
    },
    running: () => [...running.values()],
    close: async () => void (await Promise.all([...running.values()].map((child) => child.stop()))),
  }
}
