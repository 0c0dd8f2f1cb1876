import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { groupByOwner } from '@penstock/runtime/consumers/consume.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { type Product, startProduct } from '../../../test/support/product.ts'
import { compareToReference, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { fillReadModels } from './read-models.ts'
import { type ReferenceServer, startReferenceServer } from './reference-servers.ts'
import { createTempFolder, prepareSampleStore } from '../sample-stores.ts'

const EVENTS = 1_000_000
const ROUNDS = 7
/** The market writes log heads every few seconds. The first start has written all of them when none is added for this long. */
const HEADS_SETTLE_MS = 6000
const QUIET_ENV = { PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_LOG_LEVEL: 'error' }

/**
 * Measures the time from the start of the process to the first successful answer of /readyz. The market was ended by kill -9,
 * and has a million events of finished orders. The references are bare node:http, and a market with an empty store.
 */
export const startBenchmark: Benchmark = {
  name: 'start',
  async run({ isQuick }: BenchmarkSize) {
    const fullFolder = await prepareSampleStore(isQuick ? 2000 : EVENTS)
    await catchUpConsumers(fullFolder)
    const emptyFolder = createTempFolder('empty')
    for (const folder of [fullFolder, emptyFolder]) await writeStartFiles(folder, isQuick ? 100 : HEADS_SETTLE_MS)
    const rounds = isQuick ? 1 : ROUNDS
    const measure = () => measureMs(() => startProduct(fullFolder, QUIET_ENV), killProduct)
    const references = [
      { name: 'bare node:http', measure: () => measureMs(startBareServer, closeServer) },
      { name: 'the same with an empty store', measure: () => measureMs(() => startProduct(emptyFolder, QUIET_ENV), killProduct) },
    ]
    const what = { description: 'start after kill -9, 1,000,000 events', unit: 'ms' }
    const rows = []
    for (const reference of references) rows.push(...(await compareToReference({ rows: [what], measure, reference, rounds })))
    return rows
  },
}

const killProduct = (product: Product): Promise<void> => product.kill()
async function startBareServer(): Promise<ReferenceServer> {
  const server = await startReferenceServer('answering-server.ts')
  await (await fetch(server.url)).arrayBuffer()
  return server
}
const closeServer = (server: ReferenceServer): Promise<void> => server.close()

async function measureMs<T>(begin: () => Promise<T>, end: (started: T) => Promise<void>): Promise<readonly [number]> {
  const startedAt = performance.now()
  const started = await begin()
  const tookMs = performance.now() - startedAt
  await end(started)
  return [tookMs]
}

/** Sets the state of a market that has run for years: all consumers have caught up, and the read models have all rows. */
async function catchUpConsumers(folder: string): Promise<void> {
  const store = openLocalStore(folder)
  const last = (await store.readAll(await findPositionBeforeLast(store), 1000)).at(-1)
  if (!last) throw new Error('the store is empty')
  const views = openViews(join(folder, 'views.db'))
  const progress = await sqlProgress(views)
  const projectionKeys = await fillReadModels(store, views, progress)
  await store.close()
  const reactionKeys = createStreamServices().flatMap(({ name, reactions }) =>
    [...groupByOwner(reactions.map(({ contract }) => contract)).keys()].map((owner) => `${name}@${owner}`),
  )
  const relayKeys = createStreamServices().map(({ name }) => `relay.${name}`)
  for (const consumer of [...reactionKeys, ...projectionKeys, ...relayKeys])
    await progress.saveCheckpoint(consumer, last.position)
  await views.close()
}

/** Binary search works because positions have no gaps. */
async function findPositionBeforeLast(store: Pick<ReturnType<typeof openLocalStore>, 'readAll'>): Promise<bigint | 'start'> {
  let [from, to] = [0n, 1n << 40n]
  while (to - from > 1n) {
    const middle = (from + to) / 2n
    if ((await store.readAll(middle, 1)).length > 0) from = middle
    else to = middle
  }
  return from
}

/** Creates the files that every later start finds, and waits until the log heads have caught up with the store. */
async function writeStartFiles(folder: string, waitMs: number): Promise<void> {
  const product = await startProduct(folder, QUIET_ENV)
  const heads = join(folder, 'audit.heads')
  const size = (): number => (existsSync(heads) ? statSync(heads).size : 0)
  for (let previousSize = -1; previousSize < size() || size() === 0;) {
    previousSize = size()
    await pause(waitMs)
  }
  await product.kill()
}
