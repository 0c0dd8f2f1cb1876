import { buy as buyOnce, follow, pay } from '../../test/harness/buyer.ts'
import { type Product, startProduct } from '../../test/harness/product.ts'
import { durations, poster, throughput } from './callers.ts'
import { compare, quantile, type Row, type Size, type Subject } from './harness.ts'
import { type Server, startServer } from './servers.ts'
import { scratch } from './stores.ts'

const CALLERS = 16
const CALLS = 2000
const ROUNDS = 9

const ORDER = `query ($id: String!) { user { market { orders { get_order(order_id: $id) {
  id status payment_status channel_id outpoint created_at size confirmations { confirmations } } } } } }`
const ID_ALONE = 'query ($id: String!) { user { market { orders { get_order(order_id: $id) { id } } } } }'
const NOTHING = '{ __typename }'

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
    const steps = await stepsOf(
      [
        { what: 'bare node:http', url: bare.url, body: bodyOf(ORDER), headers: {} },
        { what: 'express, headers, reading the body', url, body: '[]', headers: {} },
        { what: 'GraphQL: document, plan, answer', url, body: JSON.stringify({ query: NOTHING }), headers: {} },
        { what: 'the credential', url, body: JSON.stringify({ query: NOTHING }), headers: bearer },
        { what: 'reading the order', url, body: bodyOf(ID_ALONE), headers: bearer },
        { what: 'its other fields', url, body: bodyOf(ORDER), headers: bearer },
      ],
      isQuick ? 5 : CALLS / 10,
      rounds,
    )
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

type Step = {
  readonly what: string
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Requests of which each needs one thing more than the one before: the differences of their medians are what that costs. */
async function stepsOf(steps: readonly Step[], calls: number, rounds: number): Promise<readonly Row[]> {
  const clients = steps.map(({ url, headers }) => poster(url, 1, headers))
  const medians: number[][] = []
  for (let round = -1; round < rounds; round++) {
    const taken: number[] = []
    for (const [index, { body }] of steps.entries()) {
      const { call } = clients[index]!
      taken.push(quantile(await durations(1, calls, () => call(body)), 0.5))
    }
    // The first round is there to compile the code.
    if (round >= 0) medians.push(taken)
  }
  clients.forEach(({ close }) => close())
  const whole = medians.map((taken) => taken.at(-1) ?? Number.NaN)
  return steps.map(({ what }, index) => {
    const figures = medians.map((taken) => (taken[index] ?? 0) - (index === 0 ? 0 : (taken[index - 1] ?? 0)))
    return {
      what: `of get_order at 1 caller: ${what}`,
      unit: 'ms',
      figures,
      ratios: figures.map((figure, round) => figure / (whole[round] ?? Number.NaN)),
      reference: { name: 'the whole call', figures: whole },
    }
  })
}
