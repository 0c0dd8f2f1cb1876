import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buy } from '../../test/harness/buyer.ts'
import { refuse, wordsOf } from '../../test/harness/options.ts'
import { type Product, startProduct } from '../../test/harness/product.ts'
import { growthPage, type Sample } from './growth-report.ts'
import { sellOrders } from './growth-load.ts'
import { enlargeOffers } from './growth-offers.ts'
import { type Probe, probeIn } from './probed.ts'
import { type Reference, referenceWork } from './reference-work.ts'
import { scratch } from './stores.ts'

/** What an order costs as finished ones pile up, at the real standalone process with the simulated network. */
const USAGE = `npm run bench:growth              30,000 orders; writes docs/benchmarks-growth.md and ends with 1 where a figure grows
npm run bench:growth -- 3000      fewer: prints, and writes nothing`
const ORDERS = 30_000
const EVERY = 500
const BUYERS = 10
/** Several times what it takes. On a slower machine it ends with the marks that it has reached, prints them, and writes nothing. */
const WITHIN_MS = 120 * 60_000
const PAGE = new URL('../../docs/benchmarks-growth.md', import.meta.url)
const PICTURE = new URL('../../docs/images/growth.svg', import.meta.url)

const SETTINGS = {
  PENSTOCK_SIM_BLOCK_SECONDS: '1',
  PENSTOCK_LOG_LEVEL: 'error',
  PENSTOCK_OPEN_WINDOW_SECONDS: '600',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  // A machine that is busy otherwise makes the figures worse, not the run fail.
  PENSTOCK_BUY_ANSWER_SECONDS: '60',
  PENSTOCK_NEW_SELLER_CAP_SAT: '0',
  // Short leases, so that orders come to their end; a price that every seller can meet.
  PENSTOCK_LEASE_BLOCKS: '4',
  PENSTOCK_SIM_CENTS_PER_BTC: '70000000',
}

const [count = `${ORDERS}`, ...more] = wordsOf(USAGE)
const orders = Number(count)
if (more.length > 0 || !Number.isInteger(orders) || orders < 1) refuse('It takes one number of orders.', USAGE)
const samples = await measured(orders)
const { page, picture, isWhole, missed } = growthPage(samples)
console.log(page)
for (const sentence of missed) console.error(sentence)
if (orders >= ORDERS && !isWhole) console.error(`It ended at ${samples.at(-1)?.orders ?? 0} orders: nothing is written.`)
else if (orders === ORDERS) {
  writeFileSync(PAGE, page)
  writeFileSync(PICTURE, picture)
  console.error('docs/benchmarks-growth.md and docs/images/growth.svg are written.')
}
process.exit(missed.length > 0 || (orders >= ORDERS && !isWhole) ? 1 : 0)

async function measured(count: number): Promise<readonly Sample[]> {
  const folder = scratch('g')
  const probe = probeIn(folder)
  const product = await startProduct(join(folder, 'market'), { ...SETTINGS, ...probe.env })
  try {
    await buy(product)
    await enlargeOffers(product)
    return await sampled(product, probe, count)
  } finally {
    await product.stop()
  }
}

async function sampled(product: Product, probe: Probe, count: number): Promise<readonly Sample[]> {
  const began = performance.now()
  const reference = referenceWork()
  const sample = async (orders: number): Promise<Sample> => {
    const atMs = performance.now() - began
    return { orders, atMs, reference: reference.done(), bytes: bytesOf(product.dataDir), ...(await probe.used()) }
  }
  reference.run()
  const samples = [await sample(0)]
  let finished = 0
  let due = EVERY
  await sellOrders(product, { count, buyers: BUYERS, withinMs: WITHIN_MS }, async (orders) => {
    finished += orders
    reference.run()
    if (finished < Math.min(due, count)) return
    due = finished + EVERY
    const [before, one] = [samples.at(-1) as Sample, await sample(finished)] // the first was taken above
    samples.push(one)
    const cpuMs = (one.cpuMs - before.cpuMs) / (finished - before.orders)
    const besideMs = meanOf(before.reference, one.reference)
    const [seconds, heap, resident] = [one.atMs / 1000, one.heapUsed / 1e6, one.rss / 1e6].map(Math.round)
    console.error(
      `${finished} orders, ${seconds} s, ${cpuMs.toFixed(1)} ms of CPU an order, the reference ${besideMs.toFixed(1)} ms, ${heap} of ${resident} MB are heap`,
    )
  })
  reference.close()
  return samples
}

function meanOf(before: Reference, after: Reference): number {
  return (after.cpuMs - before.cpuMs) / (after.runs - before.runs)
}

/** Of the market's own files, by what they are: the simulated network's is another world's. */
function bytesOf(folder: string): Sample['bytes'] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  // A write-ahead log has its size from the beginning, and is written over.
  const sum = (isOurs: (name: string) => boolean): number =>
    files
      .filter(({ name }) => !name.endsWith('-wal') && !name.endsWith('-shm') && isOurs(name))
      .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).size, 0)
  return {
    market: sum((name) => name.startsWith('market.db')),
    views: sum((name) => name.startsWith('views.db') || name.startsWith('records.db')),
    others: sum((name) => name.startsWith('audit.') || name.startsWith('seller-')),
  }
}
