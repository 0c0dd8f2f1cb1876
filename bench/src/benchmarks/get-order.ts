import { buyChannel, waitForStatus, paySimulatedInvoice } from '../../../test/support/market-client.ts'
import { type Product, startProduct } from '../../../test/support/product.ts'
import { openJsonClient, measureThroughput } from '../callers.ts'
import { measureGetOrderSteps } from './get-order-steps.ts'
import { compareToReference, type BenchmarkRow, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { type ReferenceServer, startReferenceServer } from './reference-servers.ts'
import { createTempFolder } from '../sample-stores.ts'

const CALLERS = 16
const CALLS = 2000
const ROUNDS = 9

const ORDER = `query ($id: String!) { user { market { orders { get_order(order_id: $id) {
  id status payment_status channel_id outpoint created_at size confirmations { confirmations } } } } } }`

/** Compares `get_order` of a sold channel with bare node:http that answers the same bytes. Then measures each step. */
export const getOrderBenchmark: Benchmark = {
  name: 'get-order',
  async run({ isQuick }: BenchmarkSize) {
    const product = await startProduct(createTempFolder('get-order'), {
      PENSTOCK_SIM_BLOCK_SECONDS: '1',
      PENSTOCK_LOG_LEVEL: 'error',
    })
    try {
      const bought = await buyChannel(product)
      await paySimulatedInvoice(product, bought.invoice)
      await waitForStatus(product, bought, ['VALID_CHANNEL_OPENING'])
      // The market's own sellers keep running, so every figure here includes their load.
      return await measureOrder(product, bought, isQuick)
    } finally {
      await product.stop()
    }
  },
}

type BoughtOrder = { readonly id: string; readonly key: string }

async function measureOrder(product: Product, { id, key }: BoughtOrder, isQuick: boolean): Promise<readonly BenchmarkRow[]> {
  const url = `${product.url}/graphql`
  const bearer = { authorization: `Bearer ${key}` }
  const bodyOf = (query: string): string => JSON.stringify({ query, variables: { id } })
  const probe = openJsonClient(url, 1, bearer)
  const answer = await probe.call(bodyOf(ORDER))
  probe.close()
  if (!answer.includes(id)) throw new Error(`the market did not return the order: ${answer}`)
  const bare = await startReferenceServer('answering-server.ts', Buffer.byteLength(answer))
  const calls = isQuick ? 20 : CALLS
  const rounds = isQuick ? 1 : ROUNDS
  try {
    const rates = await measureRates({ url, bearer, body: bodyOf(ORDER) }, bare, calls, rounds)
    const sale = { query: ORDER, variables: { id }, answer }
    const steps = await measureGetOrderSteps({ url, bearer, bare: bare.url, sale }, isQuick ? 5 : CALLS / 10, rounds)
    return [...rates, ...steps]
  } finally {
    await bare.close()
  }
}

type OrderRequest = { readonly url: string; readonly body: string; readonly bearer: Readonly<Record<string, string>> }

async function measureRates(
  { url, bearer, body }: OrderRequest,
  bare: ReferenceServer,
  calls: number,
  rounds: number,
): Promise<readonly BenchmarkRow[]> {
  const [market, reference] = [openJsonClient(url, CALLERS, bearer), openJsonClient(bare.url, CALLERS)]
  const [callMarket, callReference] = [() => market.call(body), () => reference.call(body)]
  // Lets V8 compile the code before the measurement.
  await measureThroughput(CALLERS, calls, callMarket)
  await measureThroughput(CALLERS, calls, callReference)
  const rows = await compareToReference({
    rows: [{ description: `get_order, ${CALLERS} callers`, unit: 'calls/s' }],
    measure: async () => [await measureThroughput(CALLERS, calls, callMarket)],
    reference: {
      name: 'bare node:http, the same bytes',
      measure: async () => [await measureThroughput(CALLERS, calls, callReference)],
    },
    rounds,
  })
  market.close()
  reference.close()
  return rows
}
