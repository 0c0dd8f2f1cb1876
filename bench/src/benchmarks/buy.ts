import { join } from 'node:path'
import { buyChannel, findBuyer } from '../../../test/support/market-client.ts'
import { type Product, startProduct } from '../../../test/support/product.ts'
import { measureBuySteps } from './buy-steps.ts'
import { measureLatencies, openJsonClient } from '../callers.ts'
import { compareToReference, type BenchmarkRow, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { startReferenceServer } from './reference-servers.ts'
import { createTempFolder } from '../sample-stores.ts'

const ROUNDS = 9
/** Calls per round, by number of callers. The 99th percentile is the ninth-slowest of 800 calls, or the fifth-slowest of 400. */
const CALLS = new Map([
  [1, 800],
  [16, 400],
  [64, 400],
])
/** Calls per round for the steps. Their figures are means, which need fewer calls. */
const STEP_CALLS = 200
/** Seconds between blocks. No order is paid, so on each block the guard checks thousands of open orders and delays some calls. */
const BLOCK_SECONDS = '5'
const EVENT_BYTES = 1024

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`

/** Compares `buy` by new buyers with bare node:http that does one durable write per request. Then measures each step. */
export const buyBenchmark: Benchmark = {
  name: 'buy',
  async run({ isQuick }: BenchmarkSize) {
    const folder = createTempFolder('buy')
    const rounds = isQuick ? 1 : ROUNDS
    const limitCalls = (calls: number): number => (isQuick ? 2 : calls)
    const rows: BenchmarkRow[] = []
    await withMarket(join(folder, 'market'), 'error', async (url, body) => {
      const client = openJsonClient(url, 1)
      const answer = await client.call(body)
      client.close()
      const reference = await startReferenceServer(
        'fsync-server.ts',
        join(folder, 'flushed'),
        EVENT_BYTES,
        Buffer.byteLength(answer),
      )
      try {
        for (const [callers, calls] of CALLS)
          rows.push(...(await compareCallers({ callers, calls: limitCalls(calls), rounds }, body, url, reference.url)))
      } finally {
        await reference.close()
      }
    })
    // Logging takes time, so the steps are measured on a second market that logs every command.
    await withMarket(join(folder, 'logs'), 'info', async (url, body, product) => {
      const calls = limitCalls(STEP_CALLS)
      for (const callers of CALLS.keys())
        rows.push(...(await measureBuySteps({ callers, calls, rounds }, body, url, product.output)))
    })
    return rows
  },
}

type MarketUse = (url: string, body: string, product: Product) => Promise<void>

async function withMarket(folder: string, logLevel: string, use: MarketUse): Promise<void> {
  const product = await startProduct(folder, {
    PENSTOCK_SIM_BLOCK_SECONDS: BLOCK_SECONDS,
    PENSTOCK_LOG_LEVEL: logLevel,
    // The market refuses purchases that would not be ready in time. A machine with other load must not end the benchmark.
    PENSTOCK_BUY_ANSWER_SECONDS: '60',
  })
  try {
    await buyChannel(product)
    const { uri } = await findBuyer(product)
    const body = JSON.stringify({ query: BUY, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
    await use(`${product.url}/graphql`, body, product)
  } finally {
    await product.stop()
  }
}

type CallerLoad = { readonly callers: number; readonly calls: number; readonly rounds: number }

async function compareCallers(
  { callers, calls, rounds }: CallerLoad,
  body: string,
  market: string,
  flushing: string,
): Promise<readonly BenchmarkRow[]> {
  const [buyer, reference] = [openJsonClient(market, callers), openJsonClient(flushing, callers)]
  const purchase = async (): Promise<void> => {
    const answer = await buyer.call(body)
    if (!answer.includes('"lightning_invoice":"ln')) throw new Error(`a purchase failed: ${answer}`)
  }
  const callReference = (): Promise<string> => reference.call(body)
  await measureLatencies(callers, calls, purchase)
  await measureLatencies(callers, calls, callReference)
  const callersText = `${callers} ${callers === 1 ? 'caller' : 'callers'}`
  const rows = await compareToReference({
    rows: [
      { description: `buy, p50 at ${callersText}`, unit: 'ms' },
      { description: `buy, p99 at ${callersText}`, unit: 'ms' },
    ],
    measure: () => measureLatencies(callers, calls, purchase),
    reference: {
      name: 'bare node:http, one write + fdatasync per request',
      measure: () => measureLatencies(callers, calls, callReference),
    },
    rounds,
  })
  buyer.close()
  reference.close()
  return rows
}
