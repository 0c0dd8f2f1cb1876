import { readFileSync } from 'node:fs'
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
  const { uri } = await buyerOf(cluster)
  const body = JSON.stringify({ query: BUY, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
  const { call, close } = poster(`${cluster.url}/graphql`, 1)
  await until('somebody sells', async () => isBought(await call(body)), SOLD_WITHIN_MS, 250)
  close()
  const figures: Figure[] = []
  for (const callers of [1, 8]) figures.push(await purchases(cluster, body, callers, extent.calls))
  for (const name of ['quote', 'order', 'settlement', 'matching', 'gateway'])
    figures.push(await recoveries(cluster, body, name, extent.kills))
  figures.push(memory(cluster))
  figures.push(...(await pushed(cluster, body, extent.pushed)))
  return figures
}

const SOLD_WITHIN_MS = 120_000
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

/** From kill -9 of every replica of a service to the first command or fact that a new one has handled, while others buy. */
async function recoveries(cluster: TestCluster, body: string, name: string, kills: number): Promise<Figure> {
  const over = new AbortController()
  const client = poster(`${cluster.url}/graphql`, 4)
  const buying = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) await client.call(body).catch(() => sleep(50))
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
    while (!(await isBack())) await sleep(20)
    taken.push(performance.now() - began)
  }
  over.abort()
  await buying
  client.close()
  return { what: `kill -9 of every ${name}, to its next handled message`, figures: taken.map(ms).join(', ') }
}

/** Resident memory by name, of the first process of each. */
function memory(cluster: TestCluster): Figure {
  const seen = new Map<string, string>()
  for (const { name, pid } of cluster.processes()) {
    if (pid === undefined || seen.has(name)) continue
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
    seen.set(name, `${name} ${Math.round(kib / 1024)}`)
  }
  return { what: 'resident memory of a process, MiB', figures: [...seen.values()].join(', ') }
}

const CALLERS = 32
const LOOK_EVERY_MS = 500

/** Orders are pushed in as fast as they are taken, while the messages that nobody has handled yet are counted. */
async function pushed(cluster: TestCluster, body: string, orders: number): Promise<readonly Figure[]> {
  const admin = kafkaClient({ brokers: cluster.brokers.split(','), clientId: 'bench' }).admin()
  await admin.connect()
  const lags: number[] = []
  const over = new AbortController()
  const looking = (async () => {
    while (!over.signal.aborted) {
      lags.push(await lagOf(admin))
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
  while ((await lagOf(admin)) > 0) await sleep(LOOK_EVERY_MS)
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
