import { randomUUID } from 'node:crypto'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import { sqliteBus } from '@penstock/adapters/sqlite/bus.ts'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import type { UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { newCommand } from '@penstock/runtime/messages.ts'
import { sendCommand } from '@penstock/runtime/send.ts'
import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { graphql } from '../harness/buyer.ts'
import type { Deal, Exchange } from './exchange.ts'
import type { HandSeller } from './hand-seller.ts'
import type { Miner } from './miner.ts'

const OFFERS = 'query { market { offer { offers(page: { limit: 50 }) { list { id auto_accept } } } } }'
const CREATE = 'mutation ($input: CreateManualOrderInput!) { market { order { create(input: $input) { id } } } }'
const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const REJECT = 'mutation ($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
type Offers = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type Offer = { readonly id: string; readonly auto_accept: boolean }
type Created = { readonly market: { readonly order: { readonly create: { readonly id: string } } } }

export type Held = { readonly deal: Deal; readonly sale: ListedSale }
/** Its funding was prepared and named, and nobody has seen it yet. */
export type Named = Held & { readonly prepared: UnpublishedFunding }
/** With its funding, which is in no block, and in the mempool. */
export type Funded = Held & { readonly outpoint: string; readonly raw: string }

type People = {
  readonly seller: HandSeller
  /** It has an offer that sells to nobody unasked. */
  readonly asked: HandSeller
  readonly blocks: Miner
}

/** Brings new orders as far as a test wants them. */
export function stages(here: () => Exchange, { seller, blocks }: Omit<People, 'asked'>) {
  const buyer = () => here().servers.node('buyer')

  async function held(): Promise<Held> {
    const deal = await here().deal()
    await here().paid(deal)
    return { deal, sale: await seller.sale(deal) }
  }

  async function named(): Promise<Named> {
    const { deal, sale } = await held()
    const { channels, peers } = here().lightning('seller')
    await peers.connect(buyer().pubkey, buyer().socket)
    const capacitySat = BigInt(sale.sizeSat)
    const prepared = await channels.prepare({ peer: buyer().pubkey, capacitySat, isPrivate: false, feeRateSatPerVbyte: 2 })
    await seller.name(prepared.outpoint, sale)
    await here().reaches(deal, 'SELLER_SENT_TRANSACTION')
    // Without a mempool a watch looks at new blocks alone: one that came before it is not looked at.
    await until('it is watched', async () => (await here().told(deal)).includes('"WatchStarted"'))
    return { deal, sale, prepared }
  }

  async function published({ prepared, ...order }: Named): Promise<Funded> {
    await here().lightning('seller').channels.publish(prepared)
    return { ...order, outpoint: prepared.outpoint, raw: await rawOf(prepared.outpoint) }
  }

  const rawOf = (outpoint: string): Promise<string> => blocks.raw(outpoint.split(':')[0] ?? '')

  /** An order that its seller has to accept first. */
  async function unanswered(key: string): Promise<Deal> {
    const { id: offer_id } = await until('its offer is in the book', async () => {
      const { data } = await graphql<Offers>(here().product.url, OFFERS, {}, key)
      return data?.market.offer.offers.list.find(({ auto_accept }) => !auto_accept)
    })
    const input = { offer_id, pubkey: here().servers.node('seller').pubkey, size: '1000000' }
    const answer = await graphql<Created>(here().product.url, CREATE, { input }, key)
    const id = answer.data?.market.order.create.id
    if (id === undefined) throw new Error(JSON.stringify(answer))
    return { id, key, invoice: '', sats: '', page: '', paymentHash: '' }
  }
  return { held, named, published, rawOf, unanswered }
}

/** Orders that ended without a channel, by their status, and the fundings that some of them have all the same. */
export type Ended = { readonly orders: ReadonlyMap<string, Deal>; readonly raws: readonly string[] }

/** One for each such status but SELLER_FAILED_TO_REACT. Their fundings are in the mempool when all of them have ended. */
export async function endings(here: () => Exchange, { seller, asked, blocks }: People): Promise<Ended> {
  const { held, named, published, rawOf, unanswered } = stages(here, { seller, blocks })
  /** As lnd gives it back by itself. */
  const cancelled = ({ paymentHash }: Deal) => here().lightning('market').holds.cancel(paymentHash)

  const [unpaid, withdrawn] = [await here().deal(), await here().deal()]
  const rejected = await unanswered(unpaid.key)
  await asks(here(), REJECT, { order_id: rejected.id }, asked.apiKey)
  await asks(here(), CANCEL, { order_id: withdrawn.id, cancellation_reason: 'UNABLE_TO_PAY' }, withdrawn.key)
  await cancelled(unpaid)

  const { deal: unopened } = await held()
  const unseen = await named()
  for (const deal of [unopened, unseen.deal]) await cancelled(deal)
  // Whoever holds a payment looks at it with each block.
  await blocks.extend(1)
  const small = await held()
  const tooSmall = await seller.open({ peer: here().servers.node('buyer'), sat: Number(small.sale.sizeSat) - 1000 })
  await seller.name(tooSmall, small.sale)
  const closed = await published(await named())
  await here().reaches(closed.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  await closes(here(), closed.deal)

  const orders = new Map([
    ['BUYER_FAILED_TO_PAY', unpaid],
    ['BUYER_REJECTED', withdrawn],
    ['SELLER_REJECTED', rejected],
    ['SELLER_FAILED_TO_OPEN_CHANNEL', unopened],
    ['SELLER_FAILED_TO_SEND_SWAP', unseen.deal],
    ['INVALID_CHANNEL_OPENING', small.deal],
    ['ADMIN_CLOSED', closed.deal],
  ])
  for (const [status, deal] of orders) await here().reaches(deal, status)
  const late = await published(unseen)
  return { orders, raws: [late.raw, closed.raw, await rawOf(tooSmall)] }
}

async function asks({ product }: Exchange, mutation: string, input: object, key: string): Promise<void> {
  const { errors } = await graphql(product.url, mutation, { input }, key)
  if (errors) throw new Error(JSON.stringify(errors))
}

/** As the operator: there is no route for it, so the command is put on the bus beside the running market. */
async function closes({ product }: Exchange, { id }: Deal): Promise<void> {
  const log = openLog(openDataDir(product.dataDir).market)
  const bus = sqliteBus(log)
  const command = { type: 'CloseByOperator', data: { by: 'operator', reason: 'A test.', bearsLoss: true } }
  const at = Date.now()
  await sendCommand(
    bus,
    undefined,
    newCommand({ id: randomUUID(), category: 'order', aggregateId: id, command, at, correlation: id }),
  )
  await bus.close()
  await log.close()
}
