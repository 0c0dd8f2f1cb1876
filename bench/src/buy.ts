import { join } from 'node:path'
import { buy as buyOnce, buyerOf } from '../../test/harness/buyer.ts'
import { type Product, startProduct } from '../../test/harness/product.ts'
import { buySteps } from './buy-steps.ts'
import { latencies, poster } from './callers.ts'
import { compare, type Row, type Size, type Subject } from './harness.ts'
import { startServer } from './servers.ts'
import { scratch } from './stores.ts'

const ROUNDS = 9
/** Of each round, by how many callers: the 99th percentile is the ninth slowest of 800 and the fifth slowest of 400. */
const CALLS = new Map([
  [1, 800],
  [16, 400],
  [64, 400],
])
/** The steps are means, for which these are enough. */
const CALLS_IN_STEPS = 200
/** Nobody pays, so the guard looks at thousands of open orders at each block: often enough that some calls meet one. */
const BLOCK_SECONDS = '5'
const EVENT_BYTES = 1024

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`

/** `buy` of strangers at the running market, beside bare node:http with one durable write per request; then step by step. */
export const buy: Subject = {
  name: 'buy',
  async run({ isQuick }: Size) {
    const folder = scratch('buy')
    const rounds = isQuick ? 1 : ROUNDS
    const few = (calls: number): number => (isQuick ? 2 : calls)
    const rows: Row[] = []
    await atMarket(join(folder, 'market'), 'error', async (url, body) => {
      const client = poster(url, 1)
      const answer = await client.call(body)
      client.close()
      const reference = await startServer('flushing-server.ts', join(folder, 'flushed'), EVENT_BYTES, Buffer.byteLength(answer))
      try {
        for (const [callers, calls] of CALLS)
          rows.push(...(await compareAt({ callers, calls: few(calls), rounds }, body, url, reference.url)))
      } finally {
        await reference.close()
      }
    })
    // What is logged costs a little, so the steps are measured at a market of their own.
    await atMarket(join(folder, 'told'), 'info', async (url, body, product) => {
      const calls = few(CALLS_IN_STEPS)
      for (const callers of CALLS.keys()) rows.push(...(await buySteps({ callers, calls, rounds }, body, url, product.output)))
    })
    return rows
  },
}

type Work = (url: string, body: string, product: Product) => Promise<void>

async function atMarket(folder: string, logLevel: string, work: Work): Promise<void> {
  const product = await startProduct(folder, { PENSTOCK_SIM_BLOCK_SECONDS: BLOCK_SECONDS, PENSTOCK_LOG_LEVEL: logLevel })
  try {
    await buyOnce(product)
    const { uri } = await buyerOf(product)
    const body = JSON.stringify({ query: BUY, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
    await work(`${product.url}/graphql`, body, product)
  } finally {
    await product.stop()
  }
}

type Load = { readonly callers: number; readonly calls: number; readonly rounds: number }

async function compareAt(
  { callers, calls, rounds }: Load,
  body: string,
  market: string,
  flushing: string,
): Promise<readonly Row[]> {
  const [buyer, other] = [poster(market, callers), poster(flushing, callers)]
  const purchase = async (): Promise<void> => {
    const answer = await buyer.call(body)
    if (!answer.includes('"lightning_invoice":"ln')) throw new Error(`a purchase failed: ${answer}`)
  }
  const flushed = (): Promise<string> => other.call(body)
  await latencies(callers, calls, purchase)
  await latencies(callers, calls, flushed)
  const at = `${callers} ${callers === 1 ? 'caller' : 'callers'}`
  const rows = await compare({
    rows: [
      { what: `buy, p50 at ${at}`, unit: 'ms' },
      { what: `buy, p99 at ${at}`, unit: 'ms' },
    ],
    measure: () => latencies(callers, calls, purchase),
    reference: {
      name: 'bare node:http, one write + fdatasync per request',
      measure: () => latencies(callers, calls, flushed),
    },
    rounds,
  })
  buyer.close()
  other.close()
  return rows
}
