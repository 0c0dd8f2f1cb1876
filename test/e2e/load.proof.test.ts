import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { findChromium } from '../../tools/chromium.ts'
import { LONG_TIMEOUT_SETTINGS, type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { startProgram } from '../support/processes.ts'

const ORDERS = 30
const root = join(import.meta.dirname, '../..')
const folder = makeTempFolder()
const report = join(folder, 'report.html')

let product: Product | undefined
const running = (): Product => product ?? assert.fail('the product did not start')
beforeAll(async () => {
  product = await startProduct(makeTempFolder(), LONG_TIMEOUT_SETTINGS)
}, 120_000)
afterAll(async () => void (await product?.stop()))

type Summary = {
  readonly ended_by: string
  readonly counts: {
    readonly arrived: number
    readonly placed: number
    readonly errors: number
    readonly shed: number
    readonly requests: number
  }
  readonly statuses: Readonly<Record<string, number>>
  readonly latencies: readonly {
    readonly step: string
    readonly count: number
    readonly timed_out: number
    readonly unsent: number
    readonly missing: number
    readonly p50_ms: number
    readonly max_ms: number
  }[]
  readonly notes: readonly string[]
  readonly checks: readonly { readonly name: string; readonly outcome: string; readonly detail: string }[]
}

/** Runs `penstock load` as an operator does. `interrupt`: sends SIGINT (Ctrl-C) after the first line of progress. */
async function runLoad(args: readonly string[], { interrupt = false } = {}) {
  const { child, output, ended } = startProgram(process.execPath, ['packages/cli/src/main.ts', 'load', '--json', ...args], {
    cwd: root,
    env: { ...process.env, PENSTOCK_URL: running().url, PENSTOCK_DATA_DIR: running().dataDir },
  })
  let isInterrupted = false
  child.stderr?.on('data', () => {
    // Sends SIGINT only once, because a second SIGINT would end the program.
    if (interrupt && !isInterrupted && output().includes('\n')) isInterrupted = child.kill('SIGINT')
  })
  const { code, stdout, stderr } = await ended
  return { code, err: stderr, summary: () => JSON.parse(stdout) as Summary }
}

/** Counts orders by status in the market's own table. */
function countMarketOrders(): Readonly<Record<string, number>> {
  const db = new DatabaseSync(join(running().dataDir, 'views.db'), { readOnly: true })
  const rows = db.prepare('SELECT status, count(*) AS count FROM gateway_orders_v2 GROUP BY status').all()
  db.close()
  return Object.fromEntries(rows.map(({ status, count }) => [String(status), Number(count)]))
}

test('the figures for thirty orders of all kinds match the market, and all checks pass', async () => {
  const mix = 'buy:60,lsps1:20,manual:10,abandon:5,cancel:5'
  const { code, err, summary } = await runLoad([
    '--orders',
    `${ORDERS}`,
    '--rate',
    '5',
    '--seed',
    '11',
    '--mix',
    mix,
    '--poll',
    '500ms',
    '--drain',
    '90s',
    '--out',
    report,
  ])
  assert.equal(code, 0, err)
  const { ended_by, counts, statuses, latencies, notes, checks } = summary()
  assert.equal(ended_by, 'itself')
  assert.deepEqual(
    { ...counts, requests: 0 },
    {
      arrived: ORDERS,
      placed: ORDERS,
      shed: 0,
      refused: 0,
      held: 0,
      unasked: 0,
      unsent: 0,
      throttles: 0,
      errors: 0,
      requests: 0,
    },
  )

  const stored = countMarketOrders()
  const sold = (statuses['VALID_CHANNEL_OPENING'] ?? 0) + (statuses['COMPLETED PAID'] ?? 0)
  assert.equal(
    Object.values(stored).reduce((sum, count) => sum + count, 0),
    ORDERS,
  )
  assert.equal(stored['VALID_CHANNEL_OPENING'], sold)
  assert.equal(stored['WAITING_FOR_BUYER_PAYMENT'] ?? 0, statuses['WAITING_FOR_BUYER_PAYMENT'] ?? 0)
  assert.equal(stored['BUYER_REJECTED'] ?? 0, statuses['BUYER_REJECTED'] ?? 0)
  assert.ok((stored['BUYER_REJECTED'] ?? 0) > 0, 'a buyer cancelled an order')

  const step = (name: string) => latencies.find((latency) => latency.step === name) ?? assert.fail(`${name} was not timed`)
  assert.equal(step('settled').count, sold)
  assert.equal(step('start lag').count, ORDERS)
  // Cancelled and unpaid orders never reach some steps. These steps do not count as missing.
  assert.deepEqual(
    latencies.filter(({ timed_out, unsent, missing }) => timed_out + unsent + missing > 0),
    [],
  )
  assert.ok(step('socket wait').count >= counts.requests)
  assert.deepEqual(notes, [])
  const stepTimes = ['payment held', 'opening', 'settled'].map((name) => step(name).p50_ms)
  assert.deepEqual(
    stepTimes,
    stepTimes.toSorted((a, b) => a - b),
  )
  assert.ok(step('invoice (manual)').count > 0 && step('invoice (lsps1)').count > 0 && step('page').count > 0)
  assert.deepEqual(
    checks.filter(({ outcome }) => outcome !== 'pass'),
    [],
  )
  assert.equal(checks.length, 11)
}, 150_000)

test('a browser shows the complete report, and requests no other file', async (context) => {
  const executablePath = findChromium()
  if (executablePath === undefined) return context.skip('No Chromium found; set PENSTOCK_CHROMIUM to its path.')
  assert.doesNotMatch(readFileSync(report, 'utf8'), /NaN|undefined|Infinity/)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(pathToFileURL(report).href)
    assert.deepEqual({ asked: requests, complaints }, { asked: [pathToFileURL(report).href], complaints: [] })
    assert.ok((await page.locator('svg polyline').count()) > 10)
    assert.equal(await page.locator('td.good').count(), 11)
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      assert.equal(overflow, 0, `at ${width} pixels`)
    }
  } finally {
    await browser.close()
  }
}, 60_000)

test('Ctrl-C ends the load early, and the report contains the measurements so far', async () => {
  const early = join(folder, 'early.html')
  const { code, err, summary } = await runLoad(
    ['--orders', '500', '--rate', '1', '--seed', '3', '--mix', 'buy:100', '--out', early],
    {
      interrupt: true,
    },
  )
  assert.equal(code, 0, err)
  const { ended_by, counts } = summary()
  assert.equal(ended_by, 'interrupt')
  assert.ok(counts.placed > 0 && counts.placed < 50)
  assert.match(readFileSync(early, 'utf8'), /was ended by the interrupt/)
}, 60_000)

test('the load command refuses a market on another machine without --i-own-this', async () => {
  const { code, err } = await runLoad(['--url', 'http://192.0.2.7:8080'])
  assert.equal(code, 1)
  assert.match(err, /^192\.0\.2\.7 is not this machine's loopback: say --i-own-this/)
}, 30_000)
