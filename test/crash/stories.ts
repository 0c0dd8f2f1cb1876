import { until } from '@penstock/testkit/until.ts'
import { behave, type Bought, buy, follow, graphql, order, pay, payment, simNodes } from '../harness/buyer.ts'
import type { Product } from '../harness/product.ts'
import { paidOut, report } from '../harness/report.ts'

/** What a story has reached; it survives the process, as the buyer does. */
export type Reached = { bought?: Bought; hash?: string }

/**
 * What buyers and sellers do until an order has ended. A story that was cut off is told again from the beginning with what
 * it had reached; its own last lines check the end.
 */
export type Story = (product: Product, reached: Reached) => Promise<void>

const SOLD = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
const ENDED_WITHIN_MS = 60_000

async function sellersAre(product: Product, how: string, which: (pubkey: string) => boolean = () => true): Promise<void> {
  for (const { alias, role, pubkey } of await simNodes(product))
    if (role === 'seller' && which(pubkey)) await behave(product, alias, how)
}

async function boughtIn(product: Product, reached: Reached, input: object = {}): Promise<Bought> {
  reached.bought ??= await buy(product, input)
  return reached.bought
}

async function paid(product: Product, reached: Reached, bought: Bought): Promise<string> {
  reached.hash ??= (await pay(product, bought.invoice)).payment_hash
  return reached.hash
}

async function sold(product: Product, reached: Reached, bought: Bought): Promise<void> {
  const hash = await paid(product, reached, bought)
  await follow(product, bought, SOLD, ENDED_WITHIN_MS)
  await until('the payment settled', async () => (await payment(product, hash)).state === 'SUCCEEDED', 20_000)
  await until('the payout is made', () => paidOut(product, bought), 30_000)
}

async function givenBack(product: Product, reached: Reached, bought: Bought, status: string): Promise<void> {
  const hash = await paid(product, reached, bought)
  await follow(product, bought, [status], ENDED_WITHIN_MS)
  const { state } = await payment(product, hash)
  if (state !== 'FAILED') throw new Error(`the order ended as ${status}, and the payment is ${state}`)
}

const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'

export const stories = {
  /** Bought, paid, opened, proven, taken, paid out. */
  sale: async (product, reached) => sold(product, reached, await boughtIn(product, reached)),

  /** The first seller does not open; another one does, under the same payment. */
  failover: async (product, reached) => {
    const bought = await boughtIn(product, reached)
    const { seller_pubkey: chosen, attempts } = await report(product, bought)
    if (attempts.length === 0) await sellersAre(product, 'never-open', (pubkey) => pubkey === chosen)
    await sold(product, reached, bought)
  },

  /** Nobody opens, and the money goes back. */
  'nobody opens': async (product, reached) => {
    const bought = await boughtIn(product, reached)
    await sellersAre(product, 'never-open')
    await givenBack(product, reached, bought, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  },

  /** What was named never comes. */
  'funding vanishes': async (product, reached) => {
    const bought = await boughtIn(product, reached)
    await sellersAre(product, 'vanish')
    await givenBack(product, reached, bought, 'SELLER_FAILED_TO_SEND_SWAP')
  },

  /** The channel is too small. */
  'wrong size': async (product, reached) => {
    const bought = await boughtIn(product, reached)
    await sellersAre(product, 'wrong-size')
    await givenBack(product, reached, bought, 'INVALID_CHANNEL_OPENING')
  },

  /** Nobody pays, and the invoice expires. */
  'not paid': async (product, reached) => {
    await follow(product, await boughtIn(product, reached), ['BUYER_FAILED_TO_PAY'], ENDED_WITHIN_MS)
  },

  /** The buyer takes its order back before it pays. */
  withdrawn: async (product, reached) => {
    const { id, key } = await boughtIn(product, reached)
    // Refused where the first call was carried out although its answer was lost.
    if ((await order(product, { id, key })).status !== 'BUYER_REJECTED')
      await graphql(product.url, CANCEL, { input: { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' } }, key)
    await follow(product, { id, key }, ['BUYER_REJECTED'], ENDED_WITHIN_MS)
  },

  /** The chain takes the funding back while it confirms. */
  're-org': async (product, reached) => {
    const bought = await boughtIn(product, reached)
    await paid(product, reached, bought)
    await follow(product, bought, ['ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL', ...SOLD], ENDED_WITHIN_MS)
    await product.operator('POST', '/sim/reorg', { depth: 2 })
    await sold(product, reached, bought)
  },
} as const satisfies Readonly<Record<string, Story>>

export type StoryName = keyof typeof stories
