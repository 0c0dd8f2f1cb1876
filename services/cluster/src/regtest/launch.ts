import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDataDir, refuseOtherMarket, regtestSocket } from '@penstock/platforms/data-dir.ts'
import { operatorToken } from '@penstock/platforms/operator-token.ts'
import { lockDataDir } from '@penstock/platforms/lock.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { grantRails } from '@penstock/standalone/grant-rails.ts'
import { sellersHaveCome } from '@penstock/standalone/demo.ts'
import { type Child, keepRunning, ready, type Tell } from '../launcher/child.ts'
import { openDoor } from '../launcher/door.ts'
import type { Planned } from '../launcher/plan.ts'
import { portIsFree, reachedAt } from '../launcher/port.ts'
import { CLOCK } from './clock.ts'
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
const MARKET_WITHIN_MS = 60_000
const AGAIN_MS = 250
const STARTED_WITHIN_MS = 100_000

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
  refuseOtherMarket(dir, 'standalone', { lightning: 'lnd' })
  const folder = join(dir.path, 'regtest')
  const lock = lockDataDir(openDataDir(folder))
  const begun: { close(): Promise<void> }[] = [{ close: async () => lock.release() }]
  const stop = async (): Promise<void> => {
    for (const one of begun.toReversed()) await one.close()
    begun.length = 0
  }
  try {
    const answer = Promise.withResolvers<ReturnType<typeof commandsOf>>()
    answer.promise.catch(() => undefined)
    begun.push(await openDoor(regtestSocket(dir.path), async (asked) => (await soon(answer.promise))(asked)))
    begun.push({ close: async () => answer.reject(new Error('The network is being stopped.')) })
    const { host } = config
    const port = config.port || (await freePort())
    await portIsFree({ host, port }, over)
    const network = await startNetwork(folder, tell, over)
    begun.push({ close: network.stop })
    const url = config.url || `http://${reachedAt(host)}:${port}`
    const place = { folder, dataDir: dir.path, host, port, url, env }
    const market = keepRunning(await marketOn(network, place), tell)
    begun.push({ close: () => market.stop() })
    const agents = agentsOf(await Promise.all(network.having('seller').map((one, index) => agentOf(one, index, place))), tell)
    begun.push({ close: () => agents.close() })
    await ready(market, over)
    const token = operatorToken(dir, config, { uuid: notMade, random: notMade })
    for (const { info } of network.having('seller')) await insist(() => grantRails({ url, token }, info.pubkey), over)
    await sellersHaveCome(url, CLOCK, over, SELLERS_WITHIN_MS)
    answer.resolve(commandsOf(network, agents))
    return { url, network, agents, stop, processes: () => [market, ...agents.running()] }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Who asks early is answered when everything stands, and told so before he gives up, which is after 110 s. */
async function soon<T>(answer: Promise<T>): Promise<T> {
  const answered = new AbortController()
  const late = sleep(STARTED_WITHIN_MS, undefined, { signal: answered.signal }).then(() => {
    throw new Error('The network is still starting; the first time its programs are built. Ask again in a moment.')
  })
  late.catch(() => undefined) // it loses the race, and nobody hears it
  try {
    return await Promise.race([answer, late])
  } finally {
    answered.abort()
  }
}

/** A market that has just come up may be started once more. */
async function insist(work: () => Promise<void>, over: AbortSignal): Promise<void> {
  for (const end = performance.now() + MARKET_WITHIN_MS; ; await sleep(AGAIN_MS)) {
    try {
      return await work()
    } catch (error) {
      if (over.aborted || performance.now() > end) throw error
    }
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
