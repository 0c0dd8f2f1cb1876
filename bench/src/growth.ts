import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buyChannel } from '../../test/support/market-client.ts'
import { exitWithUsage, parsePositionals } from '../../test/support/options.ts'
import { type Product, startProduct } from '../../test/support/product.ts'
import { renderGrowthReport, type GrowthSample } from './growth/growth-report.ts'
import { sellOrders } from './growth/growth-orders.ts'
import { enlargeOffers } from './growth/growth-offers.ts'
import { type UsageProbe, openUsageProbe } from './process-usage.ts'
import { type ReferenceUsage, openReferenceWorkload } from './growth/reference-workload.ts'
import { createTempFolder } from './sample-stores.ts'

/** Measures the cost of an order as finished orders accumulate, in the real standalone process with the simulated network. */
const USAGE = `npm run bench:growth              30,000 orders; writes docs/benchmarks-growth.md; exits with 1 if a figure grows
npm run bench:growth -- 3000      fewer orders; prints the page and writes nothing`
const ORDERS = 30_000
const SAMPLE_INTERVAL = 500
const BUYERS = 10
/** Several times the usual duration. A run that exceeds this limit prints the marks that it has reached, and writes nothing. */
const TIME_LIMIT_MS = 120 * 60_000
const PAGE = new URL('../../docs/benchmarks-growth.md', import.meta.url)
const PICTURE = new URL('../../docs/images/growth.svg', import.meta.url)

const SETTINGS = {
  PENSTOCK_SIM_BLOCK_SECONDS: '1',
  PENSTOCK_LOG_LEVEL: 'error',
  PENSTOCK_OPEN_WINDOW_SECONDS: '600',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  // Other load on the machine makes purchases slower, but must not make them fail.
  PENSTOCK_BUY_ANSWER_SECONDS: '60',
  PENSTOCK_NEW_SELLER_CAP_SAT: '0',
  // Short leases let orders finish, and at this exchange rate every seller can serve them.
  PENSTOCK_LEASE_BLOCKS: '4',
  PENSTOCK_SIM_CENTS_PER_BTC: '70000000',
}

const [count = `${ORDERS}`, ...more] = parsePositionals(USAGE)
const orders = Number(count)
if (more.length > 0 || !Number.isInteger(orders) || orders < 1) exitWithUsage('The only argument is the number of orders.', USAGE)
const samples = await measureGrowth(orders)
const { page, picture, isWhole, missed } = renderGrowthReport(samples)
console.log(page)
for (const sentence of missed) console.error(sentence)
if (orders >= ORDERS && !isWhole) console.error(`The run ended at ${samples.at(-1)?.orders ?? 0} orders; no page is written.`)
else if (orders === ORDERS) {
  writeFileSync(PAGE, page)
  writeFileSync(PICTURE, picture)
  console.error('docs/benchmarks-growth.md and docs/images/growth.svg are written.')
}
process.exit(missed.length > 0 || (orders >= ORDERS && !isWhole) ? 1 : 0)

async function measureGrowth(count: number): Promise<readonly GrowthSample[]> {
  const folder = createTempFolder('g')
  const probe = openUsageProbe(folder)
  const product = await startProduct(join(folder, 'market'), { ...SETTINGS, ...probe.env })
  try {
    await buyChannel(product)
    await enlargeOffers(product)
    return await sampleGrowth(product, probe, count)
  } finally {
    await product.stop()
  }
}

async function sampleGrowth(product: Product, probe: UsageProbe, count: number): Promise<readonly GrowthSample[]> {
  const startedAt = performance.now()
  const reference = openReferenceWorkload()
  const sample = async (orders: number): Promise<GrowthSample> => {
    const atMs = performance.now() - startedAt
    return { orders, atMs, reference: reference.readUsage(), bytes: measureBytes(product.dataDir), ...(await probe.readUsage()) }
  }
  reference.run()
  const samples = [await sample(0)]
  let finished = 0
  let nextSampleAt = SAMPLE_INTERVAL
  await sellOrders(product, { count, buyers: BUYERS, timeLimitMs: TIME_LIMIT_MS }, async (orders) => {
    finished += orders
    reference.run()
    if (finished < Math.min(nextSampleAt, count)) return
    nextSampleAt = finished + SAMPLE_INTERVAL
    const [before, current] = [samples.at(-1) as GrowthSample, await sample(finished)] // `samples` begins with the sample above
    samples.push(current)
    const cpuMs = (current.cpuMs - before.cpuMs) / (finished - before.orders)
    const referenceMs = computeMeanMs(before.reference, current.reference)
    const [seconds, heap, resident] = [current.atMs / 1000, current.heapUsed / 1e6, current.rss / 1e6].map(Math.round)
    console.error(
      `${finished} orders, ${seconds} s, ${cpuMs.toFixed(1)} ms of CPU per order, the reference ${referenceMs.toFixed(1)} ms, ${heap} of ${resident} MB are heap`,
    )
  })
  reference.close()
  return samples
}

function computeMeanMs(before: ReferenceUsage, after: ReferenceUsage): number {
  return (after.cpuMs - before.cpuMs) / (after.runs - before.runs)
}

/** Sums the sizes of the market's own files by kind, without the file of the simulated network. */
function measureBytes(folder: string): GrowthSample['bytes'] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  // A write-ahead log has a fixed size and is overwritten, so the sums leave it out.
  const sum = (isIncluded: (name: string) => boolean): number =>
    files
      .filter(({ name }) => !name.endsWith('-wal') && !name.endsWith('-shm') && isIncluded(name))
      .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).size, 0)
  return {
    market: sum((name) => name.startsWith('market.db')),
    views: sum((name) => name.startsWith('views.db') || name.startsWith('records.db')),
    others: sum((name) => name.startsWith('audit.') || name.startsWith('seller-')),
  }
}
