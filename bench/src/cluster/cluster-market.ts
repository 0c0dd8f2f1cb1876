import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient } from '@penstock/adapters/kafka/client.ts'
import { clusterSocket } from '@penstock/config/data-dir.ts'
import { serviceNames } from '@penstock/standalone/registry.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { Admin } from 'kafkajs'
import { findBuyer } from '../../../test/support/market-client.ts'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { measureDurations, openJsonClient } from '../callers.ts'
import { computeQuantile } from '../harness.ts'
import { listProcessTrees, readIfPresent } from './process-trees.ts'
import { BUY_MUTATION } from '../../../test/support/market-operations.ts'

/** The topics that a purchase passes through before its answer, in order. */
export const BUY_TOPICS = [
  'quote.commands.gateway',
  'order.commands.quote',
  'settlement.commands.order',
  'settlement.events',
  'order.events',
] as const

/** One figure, or several figures of one kind. */
export type ClusterFigure = { readonly description: string; readonly figures: string }
export type MarketBenchmarkSize = { readonly calls: number; readonly pushed: number; readonly kills: number }

const formatMs = (value: number): string => `${Math.round(value).toLocaleString('en')} ms`

export async function measureMarket(cluster: TestCluster, size: MarketBenchmarkSize): Promise<readonly ClusterFigure[]> {
  const { uri, alias } = await findBuyer(cluster)
  const body = JSON.stringify({ query: BUY_MUTATION, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
  const { call, close } = openJsonClient(`${cluster.url}/graphql`, 1)
  await waitUntil('the first purchase', async () => isBought(await call(body)), SALE_TIMEOUT_MS, 250)
  close()
  const figures: ClusterFigure[] = []
  for (const callers of [1, 8]) figures.push(await measurePurchases(cluster, body, callers, size.calls))
  for (const name of serviceNames) figures.push(await measureRecoveries(cluster, { body, alias }, name, size.kills))
  figures.push(measureMemory(cluster))
  figures.push(...(await measurePushedOrders(cluster, body, size.pushed)))
  return figures
}

const SALE_TIMEOUT_MS = 120_000
const RECOVERY_TIMEOUT_MS = 120_000
const DRAIN_TIMEOUT_MS = 600_000
const isBought = (answer: string): boolean => answer.includes('"lightning_invoice":"ln')

async function measurePurchases({ url }: TestCluster, body: string, callers: number, calls: number): Promise<ClusterFigure> {
  const client = openJsonClient(`${url}/graphql`, callers)
  const purchase = async (): Promise<void> => {
    const answer = await client.call(body)
    if (!isBought(answer)) throw new Error(`a purchase failed: ${answer}`)
  }
  await measureDurations(callers, Math.ceil(calls / 5), purchase)
  const timesMs = await measureDurations(callers, calls, purchase)
  client.close()
  return {
    description: `\`buy\`, ${callers} ${callers === 1 ? 'caller' : 'callers'}, ${BUY_TOPICS.length} hops`,
    figures: `p50 ${formatMs(computeQuantile(timesMs, 0.5))}, p99 ${formatMs(computeQuantile(timesMs, 0.99))}`,
  }
}

type ProcessRow = { readonly name: string; readonly pid: number | null; readonly handled: number | null }

/** Reads the launcher's table of its processes. */
const listProcesses = ({ dataDir }: TestCluster): Promise<readonly ProcessRow[]> =>
  new Promise((resolve, reject) => {
    const clientRequest = request({ socketPath: clusterSocket(dataDir), path: '/' }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve(JSON.parse(text) as readonly ProcessRow[])) // the launcher's own table
    })
    clientRequest.on('error', reject).end()
  })

type Purchase = { readonly body: string; readonly alias: string }

/**
 * Measures the time from kill -9 of every replica of a service to the first message that a new replica handles: a command, or
 * a fact if the service has no commands. Meanwhile four callers buy channels and pay.
 */
async function measureRecoveries(
  cluster: TestCluster,
  { body, alias }: Purchase,
  name: string,
  kills: number,
): Promise<ClusterFigure> {
  const stop = new AbortController()
  const client = openJsonClient(`${cluster.url}/graphql`, 4)
  // The channel watcher handles no message before an order is paid.
  const buyAndPay = async (): Promise<void> => {
    const invoice = /"lightning_invoice":"(ln[^"]+)"/.exec(await client.call(body))?.[1]
    await (invoice === undefined ? sleep(50) : cluster.operator('POST', '/sim/pay', { invoice, from: alias }))
  }
  const buying = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) await buyAndPay().catch(() => sleep(50))
    }),
  )
  const timesMs: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    await sleep(1000)
    const oldProcesses = (await listProcesses(cluster)).filter((row) => row.name === name)
    const startedAt = performance.now()
    for (const { pid } of oldProcesses) if (pid !== null) process.kill(pid, 'SIGKILL')
    const isBack = async (): Promise<boolean> =>
      (await listProcesses(cluster)).some(
        (row) => row.name === name && (row.handled ?? 0) > 0 && !oldProcesses.some(({ pid }) => pid === row.pid),
      )
    await waitUntil(`${name} is back`, isBack, RECOVERY_TIMEOUT_MS, 20)
    timesMs.push(performance.now() - startedAt)
  }
  stop.abort()
  await buying
  client.close()
  return { description: `kill -9 of every ${name}, to its next handled message`, figures: timesMs.map(formatMs).join(', ') }
}

/** Measures each process with its descendants, in MiB of proportional set size (PSS): sharers divide the size of a page. */
function measureMemory(cluster: TestCluster): ClusterFigure {
  const readPssKib = (pid: number): number => Number(/^Pss:\s+(\d+)/m.exec(readIfPresent(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
  const byName = Map.groupBy(listProcessTrees(cluster.processes()), ({ name }) => name)
  const figures = [...byName].map(
    ([name, all]) =>
      `${name} ${all.map(({ pids }) => Math.round(pids.reduce((sum, pid) => sum + readPssKib(pid), 0) / 1024)).join(' + ')}`,
  )
  return { description: 'memory of each process (proportional set size), MiB', figures: figures.join(', ') }
}

const CALLERS = 32
const SAMPLE_INTERVAL_MS = 500

/** Places orders as fast as the market accepts them, and samples the number of unhandled messages during that time. */
async function measurePushedOrders(cluster: TestCluster, body: string, orders: number): Promise<readonly ClusterFigure[]> {
  const admin = createKafkaClient({ brokers: cluster.brokers.split(','), clientId: 'bench', sasl: cluster.brokersLogin }).admin()
  await admin.connect()
  const lags: number[] = []
  const stop = new AbortController()
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      // A busy broker may not answer in time. The loop then skips this sample.
      await measureLag(admin).then(
        (lag) => lags.push(lag),
        () => undefined,
      )
      await sleep(SAMPLE_INTERVAL_MS)
    }
  })()
  const client = openJsonClient(`${cluster.url}/graphql`, CALLERS)
  const refused: string[] = []
  const startedAt = performance.now()
  const timesMs = await measureDurations(CALLERS, orders, async () => {
    const answer = await client.call(body).catch(String)
    if (!isBought(answer)) refused.push(/"(?:message|error)":"([^"]*)"/.exec(answer)?.[1] ?? answer)
  })
  const tookMs = performance.now() - startedAt
  const pushedAt = performance.now()
  await waitUntil(
    'all messages handled',
    async () => (await measureLag(admin).catch(() => 1)) === 0,
    DRAIN_TIMEOUT_MS,
    SAMPLE_INTERVAL_MS,
  )
  const drainedMs = performance.now() - pushedAt
  stop.abort()
  await sampling
  client.close()
  await admin.disconnect()
  const rate = ((orders * 1000) / tookMs).toFixed(1)
  return [
    {
      description: `${orders.toLocaleString('en')} orders from ${CALLERS} callers`,
      figures: `${rate}/s, p50 ${formatMs(computeQuantile(timesMs, 0.5))}, p99 ${formatMs(computeQuantile(timesMs, 0.99))}, ${refused.length} not placed${formatReasons(refused)}`,
    },
    {
      description: 'messages that waited meanwhile, over all consumer groups',
      figures: `median ${computeQuantile(lags, 0.5)}, at most ${Math.max(...lags)}; none ${formatMs(drainedMs)} after the last order`,
    },
  ]
}

const formatReasons = (refused: readonly string[]): string =>
  [...Map.groupBy(refused, (reason) => reason)].map(([reason, equal]) => `; ${equal.length} times "${reason}"`).join('')

/** Counts messages above the committed offsets. Offsets are committed once a second, so it counts up to 1 s too many. */
async function measureLag(admin: Admin): Promise<number> {
  const { groups } = await admin.listGroups()
  const lags = await Promise.all(
    groups.map(async ({ groupId }) => {
      const committed = await admin.fetchOffsets({ groupId })
      const lagsOfTopics = await Promise.all(
        committed.map(async ({ topic, partitions }) => {
          const done = new Map(partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]))
          const ends = await admin.fetchTopicOffsets(topic)
          return ends.reduce((sum, { partition, offset }) => sum + Math.max(0, Number(offset) - (done.get(partition) ?? 0)), 0)
        }),
      )
      return lagsOfTopics.reduce((sum, lag) => sum + lag, 0)
    }),
  )
  return lags.reduce((sum, lag) => sum + lag, 0)
}
