import { randomBytes } from 'node:crypto'
import { getValueAt, type LoadMarket, type OperatorApi, getTextAt } from '../market/load-market.ts'
import { filterObjects } from '../../json.ts'
import { toKnownRequestError } from './order-scenario.ts'
import { processClock } from '../load-clock.ts'
import type { ManualBuyer } from './order-requests.ts'
import type { LoadCounters } from '../measurements/counters.ts'
import { RequestError } from '../market/request-error.ts'
import type { SimNetworkNode } from '../market/targets.ts'

const SALES_QUERY = `query Load($page: PageInput, $input: OrderInput) { user { market { orders { sales(page: $page, input: $input) {
  list { id status size fees { seller { sats } } destination { pubkey } options { private } } } } } } }`
const SIZE_SAT = '1000000'
/** The market requires an expiry of more than 48 hours. */
const INVOICE_SECONDS = 180_000
const POLL_MS = 500

/** A seller without an agent, on a node of the simulated network. It uses only the public API. */
export type LoadSeller = { readonly bearer: string; readonly offerId: string; readonly node: SimNetworkNode }

const createAccount = async (market: LoadMarket): Promise<string> => {
  const input = { email: `load-${randomBytes(8).toString('hex')}@load.invalid`, password: randomBytes(18).toString('base64url') }
  return (await market.call(undefined, (api) => api.account.create(input))).token
}

/** Creates an account for the buyer of manual orders. */
export const openManualBuyer = async (
  market: LoadMarket,
  { offerId }: Pick<LoadSeller, 'offerId'>,
  sizeSat = SIZE_SAT,
): Promise<ManualBuyer> => ({
  bearer: await createAccount(market),
  offerId,
  sizeSat,
})

/** Finds an offer of a live seller with standing acceptance, for a run without its own seller. @returns undefined if none */
export async function findAutoAcceptOffer(market: LoadMarket): Promise<{ offerId: string; sizeSat: string } | undefined> {
  const args = { page: { limit: 100 }, filter: { status: 'ENABLED' } } as const
  const { list } = await market.call(undefined, (api) => api.market.offer.offers(args))
  const found = list.find(({ auto_accept: isAutomatic, seller }) => isAutomatic && seller.live)
  return found && { offerId: found.id, sizeSat: found.min_size }
}

/** Proves ownership of the node, and creates an offer. A node that an earlier run connected logs in by its signature. */
export async function openManualSeller(
  market: LoadMarket,
  operator: OperatorApi,
  node: SimNetworkNode,
  orders: number,
): Promise<LoadSeller> {
  const { pubkey, alias } = node
  const sign = async (text: string) => getTextAt(await operator('POST', '/sim/sign', { alias, text }), 'signature')
  const bearer = (await logIn(market, pubkey, sign)) ?? (await connectNode(market, pubkey, sign))
  const terms = {
    pubkey,
    total_size: `${BigInt(SIZE_SAT) * BigInt(orders + 1)}`,
    min_size: SIZE_SAT,
    max_size: SIZE_SAT,
    min_block_length: 4320,
    fee_rate: 2000,
    base_fee: '500',
    fee_rate_cap: 500,
    base_fee_cap: '1000',
    auto_accept: false,
  }
  const { offer_id: offerId } = await market.call(bearer, (api) => api.market.offer.create(terms))
  return { bearer, offerId, node }
}

/** @returns undefined if no account has this node */
async function logIn(market: LoadMarket, pubkey: string, sign: (text: string) => Promise<string>): Promise<string | undefined> {
  const challenge = await market.call(undefined, (api) => api.account.loginChallenge({ pubkey }))
  try {
    const signature = await sign(challenge)
    return (await market.call(undefined, (api) => api.account.login({ pubkey, challenge, signature }))).token
  } catch (error) {
    if (error instanceof RequestError && error.code === 'GRAPHQL_VALIDATION_FAILED') return undefined
    throw error
  }
}

async function connectNode(market: LoadMarket, pubkey: string, sign: (text: string) => Promise<string>): Promise<string> {
  const bearer = await createAccount(market)
  const challenge = await market.call(bearer, (api) => api.account.node.challenge({ pubkey }))
  const signature = await sign(challenge)
  await market.call(bearer, (api) => api.account.node.connect({ pubkey, challenge, signature }))
  return bearer
}

/** Disables the offer, so that it gets no orders after the run. */
export const closeManualSeller = async (market: LoadMarket, { bearer, offerId }: LoadSeller): Promise<void> =>
  void (await market.call(bearer, (api) => api.market.offer.toggle({ offer_id: offerId })))

/** Accepts new orders and opens the channels of paid orders, until the signal aborts. */
export async function runManualSeller(
  market: LoadMarket,
  operator: OperatorApi,
  seller: LoadSeller,
  counters: LoadCounters,
  signal: AbortSignal,
): Promise<void> {
  const accepted = new Set<string>()
  const opened = new Map<string, string>()
  for (; !signal.aborted; await processClock.sleep(POLL_MS, signal)) {
    try {
      const variables = { page: { limit: 100 }, input: { action_needed: true } }
      const sales = getValueAt(await market.graphql(SALES_QUERY, variables, seller.bearer), 'user.market.orders.sales.list')
      for (const sale of filterObjects(sales)) await handleSale(market, operator, seller, sale, { accepted, opened })
    } catch (error) {
      counters.recordError('seller', toKnownRequestError(error))
    }
  }
}

type HandledSales = { readonly accepted: Set<string>; readonly opened: Map<string, string> }

async function handleSale(
  market: LoadMarket,
  operator: OperatorApi,
  { bearer, node }: LoadSeller,
  sale: Parameters<typeof getTextAt>[0],
  { accepted, opened }: HandledSales,
): Promise<void> {
  const id = getTextAt(sale, 'id')
  const status = getTextAt(sale, 'status')
  if (status === 'WAITING_FOR_SELLER_APPROVAL' && !accepted.has(id)) {
    const simRequest = { alias: node.alias, sats: getTextAt(sale, 'fees.seller.sats'), expirySeconds: INVOICE_SECONDS }
    const request = getTextAt(await operator('POST', '/sim/invoice', simRequest), 'invoice')
    await market.call(bearer, (api) => api.market.order.seller.accept({ order_id: id, request }))
    accepted.add(id)
  }
  if (status === 'WAITING_FOR_CHANNEL_OPEN') {
    const pubkey = getTextAt(sale, 'destination.pubkey')
    const simRequest = {
      alias: node.alias,
      pubkey,
      sats: getTextAt(sale, 'size'),
      private: getValueAt(sale, 'options.private') === true,
    }
    // A retry submits the same outpoint, because a second channel for one order would not be paid.
    const outpoint = opened.get(id) ?? getTextAt(await operator('POST', '/sim/open', simRequest), 'outpoint')
    opened.set(id, outpoint)
    await market.call(bearer, (api) => api.market.order.seller.addTransaction({ order_id: id, transaction: outpoint }))
  }
}
