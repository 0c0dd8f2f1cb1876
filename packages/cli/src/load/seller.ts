import { randomBytes } from 'node:crypto'
import { at, type Market, type Operator, textAt } from './market.ts'
import { objectsOf } from '../json.ts'
import { asTrouble, sleepUntil } from './life.ts'
import type { ManualBuyer } from './buying.ts'
import type { Tally } from './tally.ts'
import { Trouble } from './trouble.ts'
import type { SimNode } from './world.ts'

const CREATE = 'mutation Load($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const LOGIN_TEXT = 'mutation Load($pubkey: String!) { account { login_challenge(pubkey: $pubkey) } }'
const LOGIN = 'mutation Load($input: LoginInput!) { account { login(input: $input) { token } } }'
const CHALLENGE = 'mutation Load($pubkey: String!) { account { node { challenge(pubkey: $pubkey) } } }'
const CONNECT = 'mutation Load($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
const OFFER = 'mutation Load($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'
const TOGGLE = 'mutation Load($input: ToggleOfferInput!) { market { offer { toggle(input: $input) { offer_id } } } }'
const BOOK = `query Load($page: PageInput, $filter: OfferFilterInput) { market { offer { offers(page: $page, filter: $filter) {
  list { id min_size auto_accept seller { live } } } } } }`
const SALES = `query Load($page: PageInput, $input: OrderInput) { user { market { orders { sales(page: $page, input: $input) {
  list { id status size fees { seller { sats } } destination { pubkey } options { private } } } } } } }`
const ACCEPT =
  'mutation Load($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const NAME =
  'mutation Load($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'

const SIZE_SAT = '1000000'
/** The market wants more than 48 hours. */
const INVOICE_SECONDS = 180_000
const POLL_MS = 500

/** A seller that works by hand on a node of the simulated network, through the public interface alone. */
export type Seller = { readonly bearer: string; readonly offerId: string; readonly node: SimNode }

const newAccount = async (market: Market): Promise<string> => {
  const input = { email: `load-${randomBytes(8).toString('hex')}@load.invalid`, password: randomBytes(18).toString('base64url') }
  return textAt(await market.graphql(CREATE, { input }), 'account.create.token')
}

/** An account for those who order by hand. */
export const openBuyer = async (
  market: Market,
  { offerId }: Pick<Seller, 'offerId'>,
  sizeSat = SIZE_SAT,
): Promise<ManualBuyer> => ({
  bearer: await newAccount(market),
  offerId,
  sizeSat,
})

/** On a real network: the first offer that needs nobody to accept. @returns undefined where there is none */
export async function anOffer(market: Market): Promise<{ offerId: string; sizeSat: string } | undefined> {
  const variables = { page: { limit: 100 }, filter: { status: 'ENABLED' } }
  const offers = objectsOf(at(await market.graphql(BOOK, variables), 'market.offer.offers.list'))
  const found = offers.find((offer) => at(offer, 'auto_accept') === true && at(offer, 'seller.live') === true)
  return found && { offerId: textAt(found, 'id'), sizeSat: textAt(found, 'min_size') }
}

/** Proves the node and offers from it. A node that an earlier run connected is logged in with by its own signature. */
export async function openSeller(market: Market, operator: Operator, node: SimNode, orders: number): Promise<Seller> {
  const { pubkey, alias } = node
  const sign = async (text: string) => textAt(await operator('POST', '/sim/sign', { alias, text }), 'signature')
  const bearer = (await logIn(market, pubkey, sign)) ?? (await connect(market, pubkey, sign))
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
  const offerId = textAt(await market.graphql(OFFER, { input: terms }, bearer), 'market.offer.create.offer_id')
  return { bearer, offerId, node }
}

/** @returns undefined where no account has this node */
async function logIn(market: Market, pubkey: string, sign: (text: string) => Promise<string>): Promise<string | undefined> {
  const challenge = textAt(await market.graphql(LOGIN_TEXT, { pubkey }), 'account.login_challenge')
  try {
    const answer = await market.graphql(LOGIN, { input: { pubkey, challenge, signature: await sign(challenge) } })
    return textAt(answer, 'account.login.token')
  } catch (error) {
    if (error instanceof Trouble && error.code === 'GRAPHQL_VALIDATION_FAILED') return undefined
    throw error
  }
}

async function connect(market: Market, pubkey: string, sign: (text: string) => Promise<string>): Promise<string> {
  const bearer = await newAccount(market)
  const challenge = textAt(await market.graphql(CHALLENGE, { pubkey }, bearer), 'account.node.challenge')
  await market.graphql(CONNECT, { input: { pubkey, challenge, signature: await sign(challenge) } }, bearer)
  return bearer
}

/** Nobody shall order from it when the run is over. */
export const closeSeller = async (market: Market, { bearer, offerId }: Seller): Promise<void> =>
  void (await market.graphql(TOGGLE, { input: { offer_id: offerId } }, bearer))

/** Accepts what is ordered and opens what is paid, until the signal. */
export async function sell(market: Market, operator: Operator, seller: Seller, tally: Tally, signal: AbortSignal): Promise<void> {
  const accepted = new Set<string>()
  const opened = new Map<string, string>()
  for (let askAt = performance.now(); await sleepUntil(askAt, signal); askAt = performance.now() + POLL_MS) {
    try {
      const variables = { page: { limit: 100 }, input: { action_needed: true } }
      const sales = at(await market.graphql(SALES, variables, seller.bearer), 'user.market.orders.sales.list')
      for (const sale of objectsOf(sales)) await serve(market, operator, seller, sale, { accepted, opened })
    } catch (error) {
      tally.note('seller', asTrouble(error))
    }
  }
}

type Served = { readonly accepted: Set<string>; readonly opened: Map<string, string> }

async function serve(
  market: Market,
  operator: Operator,
  { bearer, node }: Seller,
  sale: Parameters<typeof textAt>[0],
  { accepted, opened }: Served,
): Promise<void> {
  const id = textAt(sale, 'id')
  const status = textAt(sale, 'status')
  if (status === 'WAITING_FOR_SELLER_APPROVAL' && !accepted.has(id)) {
    const wanted = { alias: node.alias, sats: textAt(sale, 'fees.seller.sats'), expirySeconds: INVOICE_SECONDS }
    const request = textAt(await operator('POST', '/sim/invoice', wanted), 'invoice')
    await market.graphql(ACCEPT, { input: { order_id: id, request } }, bearer)
    accepted.add(id)
  }
  if (status === 'WAITING_FOR_CHANNEL_OPEN') {
    const pubkey = textAt(sale, 'destination.pubkey')
    const wanted = { alias: node.alias, pubkey, sats: textAt(sale, 'size'), private: at(sale, 'options.private') === true }
    // Kept until the market has taken its name: a second channel for one order would be paid by nobody.
    const outpoint = opened.get(id) ?? textAt(await operator('POST', '/sim/open', wanted), 'outpoint')
    opened.set(id, outpoint)
    await market.graphql(NAME, { input: { order_id: id, transaction: outpoint } }, bearer)
  }
}
