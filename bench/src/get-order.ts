import { buy as buyOnce, follow, pay } from '../../test/harness/buyer.ts'
import { type Product, startProduct } from '../../test/harness/product.ts'
import { poster, throughput } from './callers.ts'
import { orderSteps } from './get-order-steps.ts'
import { compare, type Row, type Size, type Subject } from './harness.ts'
import { type Server, startServer } from './servers.ts'
import { scratch } from './stores.ts'

const CALLERS = 16
const CALLS = 2000
const ROUNDS = 9

const ORDER = `query ($id: String!) { user { market { orders { get_order(order_id: $id) {
  id status payment_status channel_id outpoint created_at size confirmations { confirmations } } } } } }`

/** `get_order` of a sold channel, beside bare node:http that answers the same bytes; then step by step what is added to that. */
export const getOrder: Subject = {
  name: 'get-order',
  async run({ isQuick }: Size) {
    const product = await startProduct(scratch('get-order'), { PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_LOG_LEVEL: 'error' })
    try {
      const bought = await buyOnce(product)
      await pay(product, bought.invoice)
      await follow(product, bought, ['VALID_CHANNEL_OPENING'])
      // Its own sellers go on beside it: they are a part of every figure here.
      return await measured(product, bought, isQuick)
    } finally {
      await product.stop()
    }
  },
}

type Bought = { readonly id: string; readonly key: string }

async function measured(product: Product, { id, key }: Bought, isQuick: boolean): Promise<readonly Row[]> {
  const url = `${product.url}/graphql`
  const bearer = { authorization: `Bearer ${key}` }
  const bodyOf = (query: string): string => JSON.stringify({ query, variables: { id } })
  const probe = poster(url, 1, bearer)
  const answer = await probe.call(bodyOf(ORDER))
  probe.close()
  if (!answer.includes(id)) throw new Error(`there is no order: ${answer}`)
  const bare = await startServer('answering-server.ts', Buffer.byteLength(answer))
  const calls = isQuick ? 20 : CALLS
  const rounds = isQuick ? 1 : ROUNDS
  try {
    const rates = await ratesOf({ url, bearer, body: bodyOf(ORDER) }, bare, calls, rounds)
    const sale = { query: ORDER, variables: { id }, answer }
    const steps = await orderSteps({ url, bearer, bare: bare.url, sale }, isQuick ? 5 : CALLS / 10, rounds)
    return [...rates, ...steps]
  } finally {
    await bare.close()
  }
}

type Target = { readonly url: string; readonly body: string; readonly bearer: Readonly<Record<string, string>> }

async function ratesOf({ url, bearer, body }: Target, bare: Server, calls: number, rounds: number): Promise<readonly Row[]> {
  const [market, other] = [poster(url, CALLERS, bearer), poster(bare.url, CALLERS)]
  const [ours, theirs] = [() => market.call(body), () => other.call(body)]
  // The code is compiled when the measuring begins.
  await throughput(CALLERS, calls, ours)
  await throughput(CALLERS, calls, theirs)
  const rows = await compare({
    rows: [{ what: `get_order, ${CALLERS} callers`, unit: 'calls/s' }],
    measure: async () => [await throughput(CALLERS, calls, ours)],
    reference: { name: 'bare node:http, the same bytes', measure: async () => [await throughput(CALLERS, calls, theirs)] },
    rounds,
  })
  market.close()
  other.close()
  return rows
}
