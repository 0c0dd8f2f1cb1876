import { waitUntil } from '@penstock/testkit/wait-until.ts'
import {
  setBehaviour,
  type PurchasedOrder,
  buyChannel,
  waitForStatus,
  sendGraphql,
  readOrder,
  paySimulatedInvoice,
  getPayment,
  listSimNodes,
} from '../support/market-client.ts'
import type { Product } from '../support/product.ts'
import { isPaidOut, getOrderReport } from '../support/order-report.ts'
import { CANCEL_MUTATION } from '../support/market-operations.ts'
import { runSandboxPayments, type SandboxProgress } from './sandbox-scenario.ts'
import { runSandboxWebhooks, type WebhookProgress } from './webhook-scenario.ts'

/** The steps that a scenario has done. The test process keeps them when the market crashes. */
export type ScenarioProgress = { purchase?: PurchasedOrder; paymentHash?: string } & SandboxProgress & WebhookProgress

/**
 * The actions of people until an order or a transaction has ended, and a check of its final status. After a crash the scenario runs
 * again from its beginning, and skips the steps in `progress`.
 */
export type CrashScenario = (market: Product, progress: ScenarioProgress) => Promise<void>

const SOLD_STATUSES = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
const END_TIMEOUT_MS = 180_000

async function setSellerBehaviour(
  market: Product,
  behaviour: string,
  isIncluded: (pubkey: string) => boolean = () => true,
): Promise<void> {
  for (const { alias, role, pubkey } of await listSimNodes(market))
    if (role === 'seller' && isIncluded(pubkey)) await setBehaviour(market, alias, behaviour)
}

async function buyOnce(market: Product, progress: ScenarioProgress, input: object = {}): Promise<PurchasedOrder> {
  progress.purchase ??= await buyChannel(market, input)
  return progress.purchase
}

async function payOnce(market: Product, progress: ScenarioProgress, purchase: PurchasedOrder): Promise<string> {
  progress.paymentHash ??= (await paySimulatedInvoice(market, purchase.invoice)).payment_hash
  return progress.paymentHash
}

async function completeSale(market: Product, progress: ScenarioProgress, purchase: PurchasedOrder): Promise<void> {
  const paymentHash = await payOnce(market, progress, purchase)
  await waitForStatus(market, purchase, SOLD_STATUSES, END_TIMEOUT_MS)
  await waitUntil('the settled payment', async () => (await getPayment(market, paymentHash)).state === 'SUCCEEDED', 120_000)
  await waitUntil('the payout', () => isPaidOut(market, purchase), 120_000)
}

/** Pays, and expects this final status and a payment that failed. */
async function expectCancelledPayment(
  market: Product,
  progress: ScenarioProgress,
  purchase: PurchasedOrder,
  status: string,
): Promise<void> {
  const paymentHash = await payOnce(market, progress, purchase)
  await waitForStatus(market, purchase, [status], END_TIMEOUT_MS)
  const { state } = await getPayment(market, paymentHash)
  if (state !== 'FAILED') throw new Error(`the order ended as ${status}, and the payment is ${state}`)
}

export const crashScenarios = {
  /** A channel is bought, paid, opened, proven, settled and paid out. */
  sale: async (market, progress) => completeSale(market, progress, await buyOnce(market, progress)),

  /** The first seller does not open a channel. Another seller opens one for the same payment. */
  failover: async (market, progress) => {
    const purchase = await buyOnce(market, progress)
    const { seller_pubkey: chosenPubkey, attempts } = await getOrderReport(market, purchase)
    if (attempts.length === 0) await setSellerBehaviour(market, 'never-open', (pubkey) => pubkey === chosenPubkey)
    await completeSale(market, progress, purchase)
  },

  /** No seller opens, and the hold is cancelled. */
  'nobody opens': async (market, progress) => {
    const purchase = await buyOnce(market, progress)
    await setSellerBehaviour(market, 'never-open')
    await expectCancelledPayment(market, progress, purchase, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  },

  /** The submitted funding transaction never appears. The API's name of the status for it mentions a swap; there is none. */
  'funding vanishes': async (market, progress) => {
    const purchase = await buyOnce(market, progress)
    await setSellerBehaviour(market, 'vanish')
    await expectCancelledPayment(market, progress, purchase, 'SELLER_FAILED_TO_SEND_SWAP')
  },

  /** The channel is too small. */
  'wrong size': async (market, progress) => {
    const purchase = await buyOnce(market, progress)
    await setSellerBehaviour(market, 'wrong-size')
    await expectCancelledPayment(market, progress, purchase, 'INVALID_CHANNEL_OPENING')
  },

  /** The buyer does not pay, and the invoice expires. */
  'not paid': async (market, progress) => {
    await waitForStatus(market, await buyOnce(market, progress), ['BUYER_FAILED_TO_PAY'], END_TIMEOUT_MS)
  },

  /** The buyer cancels its order before it pays. */
  withdrawn: async (market, progress) => {
    const { id, key } = await buyOnce(market, progress)
    // The cancellation before the crash may have succeeded without an answer. The market would refuse a second one.
    if ((await readOrder(market, { id, key })).status !== 'BUYER_REJECTED')
      await sendGraphql(market.url, CANCEL_MUTATION, { input: { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' } }, key)
    await waitForStatus(market, { id, key }, ['BUYER_REJECTED'], END_TIMEOUT_MS)
  },

  /** A re-organisation removes the funding while it confirms. */
  're-org': async (market, progress) => {
    const purchase = await buyOnce(market, progress)
    await payOnce(market, progress, purchase)
    await waitForStatus(market, purchase, ['ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL', ...SOLD_STATUSES], END_TIMEOUT_MS)
    await market.operator('POST', '/sim/reorg', { depth: 2 })
    await completeSale(market, progress, purchase)
  },

  /** A team receives and sends in its sandbox. */
  'sandbox payments': runSandboxPayments,

  /** A team receives in its sandbox, and a server of it gets the events. */
  'sandbox webhooks': runSandboxWebhooks,
} as const satisfies Readonly<Record<string, CrashScenario>>

export type CrashScenarioName = keyof typeof crashScenarios
