import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { byOwner } from '@penstock/runtime/consume.ts'
import { audited } from '@penstock/standalone/services.ts'
import { type Product, startProduct } from '../../test/harness/product.ts'
import { compare, type Size, type Subject } from './harness.ts'
import { fillReadModels } from './read-models.ts'
import { type Server, startServer } from './servers.ts'
import { scratch, storeOfSales } from './stores.ts'

const EVENTS = 1_000_000
const ROUNDS = 7
/** Log heads are written every few seconds: as long as they grow, the first start is not over. */
const HEADS_MS = 6000
const QUIET = { PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_LOG_LEVEL: 'error' }

/**
 * From the start of the process to the first good answer of /readyz, after kill -9: with a million events of finished
 * orders, beside a bare Node that answers, and beside the same market with an empty store.
 */
export const start: Subject = {
  name: 'start',
  async run({ isQuick }: Size) {
    const full = await storeOfSales(isQuick ? 2000 : EVENTS)
    await readBefore(full)
    const empty = scratch('empty')
    for (const folder of [full, empty]) await firstStart(folder, isQuick ? 100 : HEADS_MS)
    const rounds = isQuick ? 1 : ROUNDS
    const measure = () => timed(() => startProduct(full, QUIET), killed)
    const references = [
      { name: 'bare node:http', measure: () => timed(bareAnswer, closed) },
      { name: 'the same with an empty store', measure: () => timed(() => startProduct(empty, QUIET), killed) },
    ]
    const what = { what: 'start after kill -9, 1,000,000 events', unit: 'ms' }
    const rows = []
    for (const reference of references) rows.push(...(await compare({ rows: [what], measure, reference, rounds })))
    return rows
  },
}

const killed = (product: Product): Promise<void> => product.kill()
async function bareAnswer(): Promise<Server> {
  const server = await startServer('answering-server.ts')
  await (await fetch(server.url)).arrayBuffer()
  return server
}
const closed = (server: Server): Promise<void> => server.close()

async function timed<T>(begin: () => Promise<T>, end: (begun: T) => Promise<void>): Promise<readonly [number]> {
  const began = performance.now()
  const begun = await begin()
  const taken = performance.now() - began
  await end(begun)
  return [taken]
}

/** As after years of running: everything was read long ago, and the read models have the rows of it. */
async function readBefore(folder: string): Promise<void> {
  const store = openStored(folder)
  const last = (await store.readAll(await lastBut(store), 1000)).at(-1)
  if (!last) throw new Error('the store is empty')
  const views = openViews(join(folder, 'views.db'))
  const progress = await sqlProgress(views)
  const projecting = await fillReadModels(store, views, progress)
  await store.close()
  const reacting = audited().flatMap(({ name, reactions }) =>
    [...byOwner(reactions.map(({ contract }) => contract)).keys()].map((owner) => `${name}@${owner}`),
  )
  const relaying = audited().map(({ name }) => `relay.${name}`)
  for (const consumer of [...reacting, ...projecting, ...relaying]) await progress.settle(consumer, last.position)
  await views.close()
}

/** Positions have no gaps, so the last is found by halves. */
async function lastBut(store: Pick<ReturnType<typeof openStored>, 'readAll'>): Promise<bigint | 'start'> {
  let [from, to] = [0n, 1n << 40n]
  while (to - from > 1n) {
    const middle = (from + to) / 2n
    if ((await store.readAll(middle, 1)).length > 0) from = middle
    else to = middle
  }
  return from
}

/** Makes the files that every later start finds, and waits until the log heads have caught up with the store. */
async function firstStart(folder: string, waitMs: number): Promise<void> {
  const product = await startProduct(folder, QUIET)
  const heads = join(folder, 'audit.heads')
  const size = (): number => (existsSync(heads) ? statSync(heads).size : 0)
  for (let before = -1; before < size() || size() === 0;) {
    before = size()
    await pause(waitMs)
  }
  await product.kill()
}
