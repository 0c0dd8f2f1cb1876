import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import { clusterSocket } from '@penstock/platforms/data-dir.ts'
import { until } from '@penstock/testkit/until.ts'
import type { Admin } from 'kafkajs'
import { buyerOf } from '../../test/harness/buyer.ts'
import type { TestCluster } from '../../test/harness/cluster.ts'
import { durations, poster } from './callers.ts'
import { quantile } from './harness.ts'

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`

/** The topics that a purchase passes before it is answered, one after the other. */
export const HOPS_OF_BUY = [
  'quote.commands',
  'order.commands',
  'settlement.commands',
  'settlement.events',
  'order.events',
] as const

/** One figure, or some of one kind. */
export type Figure = { readonly what: string; readonly figures: string }
export type MarketExtent = { readonly calls: number; readonly pushed: number; readonly kills: number }

const ms = (value: number): string => `${Math.round(value).toLocaleString('en')} ms`

export async function measureMarket(cluster: TestCluster, extent: MarketExtent): Promise<readonly Figure[]> {
  const { uri, alias } = await buyerOf(cluster)
  const body = JSON.stringify({ query: BUY, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
  const { call, close } = poster(`${cluster.url}/graphql`, 1)
  await until('somebody sells', async () => isBought(await call(body)), SOLD_WITHIN_MS, 250)
  close()
  const figures: Figure[] = []
  for (const callers of [1, 8]) figures.push(await purchases(cluster, body, callers, extent.calls))
  for (const name of SERVICES) figures.push(await recoveries(cluster, { body, alias }, name, extent.kills))
  figures.push(memory(cluster))
  figures.push(...(await pushed(cluster, body, extent.pushed)))
  return figures
}

const SERVICES = ['gateway', 'accounts', 'quote', 'order', 'settlement', 'matching', 'channel-watcher']
const SOLD_WITHIN_MS = 120_000
const BACK_WITHIN_MS = 120_000
const DRAINED_WITHIN_MS = 600_000
const isBought = (answer: string): boolean => answer.includes('"lightning_invoice":"ln')

async function purchases({ url }: TestCluster, body: string, callers: number, calls: number): Promise<Figure> {
  const client = poster(`${url}/graphql`, callers)
  const purchase = async (): Promise<void> => {
    const answer = await client.call(body)
    if (!isBought(answer)) throw new Error(`a purchase failed: ${answer}`)
  }
  await durations(callers, Math.ceil(calls / 5), purchase)
  const taken = await durations(callers, calls, purchase)
  client.close()
  return {
    what: `\`buy\`, ${callers} ${callers === 1 ? 'caller' : 'callers'}, ${HOPS_OF_BUY.length} hops`,
    figures: `p50 ${ms(quantile(taken, 0.5))}, p99 ${ms(quantile(taken, 0.99))}`,
  }
}

type Row = { readonly name: string; readonly pid: number | null; readonly handled: number | null }

/** What the launcher says of its processes. */
const rowsOf = ({ dataDir }: TestCluster): Promise<readonly Row[]> =>
  new Promise((resolve, reject) => {
    const asking = request({ socketPath: clusterSocket(dataDir), path: '/' }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve(JSON.parse(text) as readonly Row[])) // the launcher's own table
    })
    asking.on('error', reject).end()
  })

type Purchase = { readonly body: string; readonly alias: string }

/**
 * From kill -9 of every replica of a service to the first command that a new one has handled, or the first fact where it is
 * sent none, while others buy and pay.
 */
async function recoveries(cluster: TestCluster, { body, alias }: Purchase, name: string, kills: number): Promise<Figure> {
  const over = new AbortController()
  const client = poster(`${cluster.url}/graphql`, 4)
  // Who watches channels has nothing to do before somebody pays.
  const bought = async (): Promise<void> => {
    const invoice = /"lightning_invoice":"(ln[^"]+)"/.exec(await client.call(body))?.[1]
    await (invoice === undefined ? sleep(50) : cluster.operator('POST', '/sim/pay', { invoice, from: alias }))
  }
  const buying = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) await bought().catch(() => sleep(50))
    }),
  )
  const taken: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    await sleep(1000)
    const before = (await rowsOf(cluster)).filter((row) => row.name === name)
    const began = performance.now()
    for (const { pid } of before) if (pid !== null) process.kill(pid, 'SIGKILL')
    const isBack = async (): Promise<boolean> =>
      (await rowsOf(cluster)).some(
        (row) => row.name === name && (row.handled ?? 0) > 0 && !before.some(({ pid }) => pid === row.pid),
      )
    await until(`${name} is back`, isBack, BACK_WITHIN_MS, 20)
    taken.push(performance.now() - began)
  }
  over.abort()
  await buying
  client.close()
  return { what: `kill -9 of every ${name}, to its next handled message`, figures: taken.map(ms).join(', ') }
}

/** What each process has in memory, with the processes that it has started; pages that some share count in parts. */
function memory(cluster: TestCluster): Figure {
  const children = childrenOf()
  const tree = (pid: number): readonly number[] => [pid, ...(children.get(pid) ?? []).flatMap(tree)]
  const kib = (pid: number): number => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
  const named = cluster.processes().flatMap(({ name, pid }) => (pid === undefined ? [] : [{ name, pids: tree(pid) }]))
  const byName = Map.groupBy(named, ({ name }) => name)
  const figures = [...byName].map(
    ([name, all]) =>
      `${name} ${all.map(({ pids }) => Math.round(pids.reduce((sum, pid) => sum + kib(pid), 0) / 1024)).join(' + ')}`,
  )
  return { what: 'memory of each process (proportional set size), MiB', figures: figures.join(', ') }
}

/** Empty where the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function childrenOf(): ReadonlyMap<number, readonly number[]> {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const parents = all.map((pid) => [Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0), Number(pid)] as const)
  return new Map([...Map.groupBy(parents, ([parent]) => parent)].map(([parent, pairs]) => [parent, pairs.map(([, pid]) => pid)]))
}

const CALLERS = 32
const LOOK_EVERY_MS = 500

/** Orders are pushed in as fast as they are taken, while the messages that nobody has handled yet are counted. */
async function pushed(cluster: TestCluster, body: string, orders: number): Promise<readonly Figure[]> {
  const admin = kafkaClient({ brokers: cluster.brokers.split(','), clientId: 'bench', sasl: cluster.brokersLogin }).admin()
  await admin.connect()
  const lags: number[] = []
  const over = new AbortController()
  const looking = (async () => {
    while (!over.signal.aborted) {
      // A broker that is busy may not answer a look in time; the next one tells.
      await lagOf(admin).then(
        (lag) => lags.push(lag),
        () => undefined,
      )
      await sleep(LOOK_EVERY_MS)
    }
  })()
  const client = poster(`${cluster.url}/graphql`, CALLERS)
  const refused: string[] = []
  const began = performance.now()
  const taken = await durations(CALLERS, orders, async () => {
    const answer = await client.call(body).catch(String)
    if (!isBought(answer)) refused.push(/"(?:message|error)":"([^"]*)"/.exec(answer)?.[1] ?? answer)
  })
  const tookMs = performance.now() - began
  const pushedAt = performance.now()
  await until('nothing waits any more', async () => (await lagOf(admin).catch(() => 1)) === 0, DRAINED_WITHIN_MS, LOOK_EVERY_MS)
  const drainedMs = performance.now() - pushedAt
  over.abort()
  await looking
  client.close()
  await admin.disconnect()
  const rate = ((orders * 1000) / tookMs).toFixed(1)
  return [
    {
      what: `${orders.toLocaleString('en')} orders from ${CALLERS} callers`,
      figures: `${rate}/s, p50 ${ms(quantile(taken, 0.5))}, p99 ${ms(quantile(taken, 0.99))}, ${refused.length} not placed${reasons(refused)}`,
    },
    {
      what: 'messages that waited meanwhile, over all consumer groups',
      figures: `median ${quantile(lags, 0.5)}, at most ${Math.max(...lags)}; none ${ms(drainedMs)} after the last order`,
    },
  ]
}

const reasons = (refused: readonly string[]): string =>
  [...Map.groupBy(refused, (reason) => reason)].map(([reason, those]) => `; ${those.length} times "${reason}"`).join('')

/** Offsets are committed twice a second, so a group that keeps up shows what came within that time. */
async function lagOf(admin: Admin): Promise<number> {
  const { groups } = await admin.listGroups()
  const lags = await Promise.all(
    groups.map(async ({ groupId }) => {
      const topic = `penstock.${groupId.split('@')[1] ?? ''}`
      const [ends, [committed]] = await Promise.all([
        admin.fetchTopicOffsets(topic),
        admin.fetchOffsets({ groupId, topics: [topic] }),
      ])
      const done = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]))
      return ends.reduce((sum, { partition, offset }) => sum + Math.max(0, Number(offset) - (done.get(partition) ?? 0)), 0)
    }),
  )
  return lags.reduce((sum, lag) => sum + lag, 0)
}
