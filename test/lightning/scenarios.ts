import { randomUUID } from 'node:crypto'
import { openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import { sqliteBus } from '@penstock/adapters/sqlite/bus/bus.ts'
import { openDataDir } from '@penstock/config/data-dir.ts'
import type { UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { newCommand } from '@penstock/runtime/commands/messages.ts'
import { sendCommand } from '@penstock/runtime/commands/send-command.ts'
import type { ListedSale } from '@penstock/seller-agent/market-client.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { requestData, sendGraphql } from '../support/market-client.ts'
import type { LightningPurchase, LightningEnvironment } from './environment.ts'
import type { ManualLightningSeller } from './manual-seller.ts'
import type { ManualMiner } from './miner.ts'
import { CANCEL_MUTATION, CREATE_ORDER_MUTATION, REJECT_MUTATION } from '../support/market-operations.ts'

const OFFERS_QUERY = 'query { market { offer { offers(page: { limit: 50 }) { list { id auto_accept } } } } }'
type Offers = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type Offer = { readonly id: string; readonly auto_accept: boolean }
type CreateResponse = { readonly market: { readonly order: { readonly create: { readonly id: string } } } }

export type HeldSale = { readonly purchase: LightningPurchase; readonly sale: ListedSale }
/** A sale whose funding is prepared and submitted, but not published. */
export type SubmittedSale = HeldSale & { readonly prepared: UnpublishedFunding }
/** A sale whose funding is in the mempool and in no block. */
export type FundedSale = HeldSale & { readonly outpoint: string; readonly rawTransaction: string }

type ScenarioParticipants = {
  readonly seller: ManualLightningSeller
  /** A seller that has to approve each order. */
  readonly approvingSeller: ManualLightningSeller
  readonly blocks: ManualMiner
}

/** @returns functions that bring new orders into the states that a test needs */
export function createScenarios(
  getEnvironment: () => LightningEnvironment,
  { seller, blocks }: Omit<ScenarioParticipants, 'approvingSeller'>,
) {
  const buyer = () => getEnvironment().servers.node('buyer')

  async function holdPayment(): Promise<HeldSale> {
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    return { purchase, sale: await seller.waitForSale(purchase) }
  }

  async function submitOutpoint(): Promise<SubmittedSale> {
    const { purchase, sale } = await holdPayment()
    const { channels, peers } = getEnvironment().lightning('seller')
    await peers.connect(buyer().pubkey, buyer().socket)
    const capacitySat = BigInt(sale.sizeSat)
    const prepared = await channels.prepare({ peer: buyer().pubkey, capacitySat, isPrivate: false, feeRateSatPerVbyte: 2 })
    await seller.submitOutpoint(prepared.outpoint, sale)
    await getEnvironment().waitForStatus(purchase, 'SELLER_SENT_TRANSACTION')
    // Without a mempool, the channel watcher checks only blocks after the start of its watch.
    await waitForResult('a watch began', async () => (await getEnvironment().readHistory(purchase)).includes('"WatchStarted"'))
    return { purchase, sale, prepared }
  }

  async function publishFunding({ prepared, ...order }: SubmittedSale): Promise<FundedSale> {
    await getEnvironment().lightning('seller').channels.publish(prepared)
    return { ...order, outpoint: prepared.outpoint, rawTransaction: await readRawTransaction(prepared.outpoint) }
  }

  const readRawTransaction = (outpoint: string): Promise<string> => blocks.raw(outpoint.split(':')[0] ?? '')

  /** Creates an order that waits for the approval of its seller. */
  async function createUnansweredOrder(key: string): Promise<LightningPurchase> {
    const { id: offer_id } = await waitForResult('the offer is in the order book', async () => {
      const { data } = await sendGraphql<Offers>(getEnvironment().product.url, OFFERS_QUERY, {}, key)
      return data?.market.offer.offers.list.find(({ auto_accept }) => !auto_accept)
    })
    const input = { offer_id, pubkey: getEnvironment().servers.node('seller').pubkey, size: '1000000' }
    const answer = await sendGraphql<CreateResponse>(getEnvironment().product.url, CREATE_ORDER_MUTATION, { input }, key)
    const id = answer.data?.market.order.create.id
    if (id === undefined) throw new Error(JSON.stringify(answer))
    return { id, key, invoice: '', sats: '', page: '', paymentHash: '' }
  }
  return {
    held: holdPayment,
    named: submitOutpoint,
    published: publishFunding,
    rawOf: readRawTransaction,
    unanswered: createUnansweredOrder,
  }
}

/** Orders that ended without a sold channel, by their status, and the raw fundings that some of their sellers created. */
export type EndedOrders = { readonly orders: ReadonlyMap<string, LightningPurchase>; readonly rawTransactions: readonly string[] }

/** Creates an order for each such status except SELLER_FAILED_TO_REACT. At the end, the fundings are in the mempool. */
export async function createEndedOrders(
  getEnvironment: () => LightningEnvironment,
  { seller, approvingSeller, blocks }: ScenarioParticipants,
): Promise<EndedOrders> {
  const {
    held: holdPayment,
    named: submitOutpoint,
    published: publishFunding,
    rawOf: readRawTransaction,
    unanswered: createUnansweredOrder,
  } = createScenarios(getEnvironment, { seller, blocks })
  /** Cancels the payment at lnd, as lnd itself does before the expiry height. */
  const cancelHold = ({ paymentHash }: LightningPurchase) => getEnvironment().lightning('market').holds.cancel(paymentHash)

  const [unpaid, withdrawn] = [await getEnvironment().buy(), await getEnvironment().buy()]
  const rejected = await createUnansweredOrder(unpaid.key)
  await requestData(getEnvironment().product, REJECT_MUTATION, { input: { order_id: rejected.id } }, approvingSeller.apiKey)
  const cancellation = { order_id: withdrawn.id, cancellation_reason: 'UNABLE_TO_PAY' }
  await requestData(getEnvironment().product, CANCEL_MUTATION, { input: cancellation }, withdrawn.key)
  await cancelHold(unpaid)

  const { purchase: unopened } = await holdPayment()
  const unpublished = await submitOutpoint()
  for (const purchase of [unopened, unpublished.purchase]) await cancelHold(purchase)
  // The market checks each held payment on every block.
  await blocks.extend(1)
  const tooSmallSale = await holdPayment()
  const tooSmall = await seller.open({
    peer: getEnvironment().servers.node('buyer'),
    sat: Number(tooSmallSale.sale.sizeSat) - 1000,
  })
  await seller.submitOutpoint(tooSmall, tooSmallSale.sale)
  const closed = await publishFunding(await submitOutpoint())
  await getEnvironment().waitForStatus(closed.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  await closeByOperator(getEnvironment(), closed.purchase)

  const orders = new Map([
    ['BUYER_FAILED_TO_PAY', unpaid],
    ['BUYER_REJECTED', withdrawn],
    ['SELLER_REJECTED', rejected],
    ['SELLER_FAILED_TO_OPEN_CHANNEL', unopened],
    ['SELLER_FAILED_TO_SEND_SWAP', unpublished.purchase],
    ['INVALID_CHANNEL_OPENING', tooSmallSale.purchase],
    ['ADMIN_CLOSED', closed.purchase],
  ])
  for (const [status, purchase] of orders) await getEnvironment().waitForStatus(purchase, status)
  const publishedLate = await publishFunding(unpublished)
  return { orders, rawTransactions: [publishedLate.rawTransaction, closed.rawTransaction, await readRawTransaction(tooSmall)] }
}

/** Closes an order as the operator. The API has no route for this command, so the function sends it on the market's bus. */
async function closeByOperator({ product }: LightningEnvironment, { id }: LightningPurchase): Promise<void> {
  const log = openMarketLog(openDataDir(product.dataDir).market)
  const bus = sqliteBus(log)
  const command = { type: 'CloseByOperator', data: { by: 'operator', reason: 'A test.', bearsLoss: true } }
  const at = Date.now()
  await sendCommand(
    'gateway',
    bus,
    undefined,
    newCommand({ id: randomUUID(), category: 'order', aggregateId: id, command, at, correlation: id }),
  )
  await bus.close()
  await log.close()
}
