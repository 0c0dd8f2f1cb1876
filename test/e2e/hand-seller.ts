import assert from 'node:assert/strict'
import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { graphql, type SimNode, simNodes } from '../harness/buyer.ts'
import type { Product } from '../harness/product.ts'

/** The market wants payout invoices that are good for more than 48 hours. */
const INVOICE_SECONDS = 604_800
const TERMS = {
  total_size: '100000000',
  min_size: '1000000',
  max_size: '10000000',
  min_block_length: 4320,
  base_fee: '500',
  fee_rate: 2000,
  base_fee_cap: '1000',
  fee_rate_cap: 500,
  // So that nobody who buys at the best price meets it.
  auto_accept: false,
}

const ACCOUNT = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const CHALLENGE = 'mutation ($input: String!) { account { node { challenge(pubkey: $input) } } }'
const CONNECT = 'mutation ($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
const OFFER = 'mutation ($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'
const CREATE = 'mutation ($input: CreateManualOrderInput!) { market { order { create(input: $input) { id } } } }'
const SALES =
  'query ($input: OrderInput) { user { market { orders { sales(input: $input) { list { id size fees { seller { sats } } } } } } } }'
const ACCEPT = 'mutation ($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const NAME =
  'mutation ($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'
const BILL =
  'query ($input: String!) { user { market { orders { get_order(order_id: $input) { payment { lightning { invoice } } } } } } }'

type Sale = { readonly id: string; readonly size: string; readonly fees: { readonly seller: { readonly sats: string } } }
type Ordered = { readonly id: string; readonly key: string }

/** A seller without an agent, on the node that belongs to nobody: a test takes each of its steps, its buyer's too. */
export type HandSeller = {
  readonly node: SimNode
  /** A channel to that node, private unless told, ordered from its offer. @throws Error with the refusal */
  readonly order: (buyer: SimNode, isPrivate?: boolean) => Promise<Ordered>
  readonly sale: (order: Ordered) => Promise<Sale | undefined>
  /** @returns the payment hash of the payout */
  readonly accept: (sale: Sale) => Promise<string>
  /** What the buyer has to pay; null while there is none. */
  readonly invoice: (order: Ordered) => Promise<string | null>
  /** Names an outpoint, whatever it is. @throws Error with the refusal */
  readonly name: (order: Ordered, outpoint: string) => Promise<void>
  /** Opens it as a private taproot channel, and signs what it is. @returns its outpoint */
  readonly openTaproot: (sale: Sale, buyer: SimNode) => Promise<string>
}

export async function handSeller(product: Product): Promise<HandSeller> {
  const node = (await simNodes(product)).find(({ role }) => role === 'spare') ?? assert.fail('every node belongs to somebody')
  const { alias, pubkey } = node
  const sign = async (text: string) =>
    (await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text })).signature
  const account = async (name: string): Promise<string> => {
    const input = { email: `${name}@example.org`, password: 'correct horse battery staple' }
    return (await ask<{ account: { create: { token: string } } }>(product, ACCOUNT, input)).account.create.token
  }
  const [seller, buying] = [await account('by-hand'), await account('buys-by-hand')]
  const { challenge } = (await ask<{ account: { node: { challenge: string } } }>(product, CHALLENGE, pubkey, seller)).account.node
  await ask(product, CONNECT, { pubkey, challenge, signature: await sign(challenge) }, seller)
  type Offered = { market: { offer: { create: { offer_id: string } } } }
  const { offer_id } = (await ask<Offered>(product, OFFER, { pubkey, ...TERMS }, seller)).market.offer.create
  return {
    node,
    async order(buyer, isPrivate = true) {
      const input = { offer_id, pubkey: buyer.pubkey, size: TERMS.min_size, options: { private: isPrivate } }
      type Created = { market: { order: { create: { id: string } } } }
      return { id: (await ask<Created>(product, CREATE, input, buying)).market.order.create.id, key: buying }
    },
    async sale({ id }) {
      type Sales = { user: { market: { orders: { sales: { list: readonly Sale[] } } } } }
      const { list } = (await ask<Sales>(product, SALES, { action_needed: true }, seller)).user.market.orders.sales
      return list.find((sale) => sale.id === id)
    },
    async accept({ id, fees }) {
      const wanted = { alias, sats: fees.seller.sats, expirySeconds: INVOICE_SECONDS }
      const bill = await product.operator<{ invoice: string; payment_hash: string }>('POST', '/sim/invoice', wanted)
      await ask(product, ACCEPT, { order_id: id, request: bill.invoice }, seller)
      return bill.payment_hash
    },
    async invoice({ id }) {
      type Bill = {
        user: { market: { orders: { get_order: { payment: { lightning: { invoice: string | null } | null } | null } } } }
      }
      const { payment } = (await ask<Bill>(product, BILL, id, buying)).user.market.orders.get_order
      return payment?.lightning?.invoice ?? null
    },
    name: async ({ id }, transaction) => void (await ask(product, NAME, { order_id: id, transaction }, seller)),
    async openTaproot({ id, size }, buyer) {
      const wanted = { alias, pubkey: buyer.pubkey, sats: size, private: true, taproot: true }
      const { outpoint } = await product.operator<{ outpoint: string }>('POST', '/sim/open', wanted)
      const nodeKeys = [pubkey, buyer.pubkey] as const
      const [capacitySat, reserveSat] = [BigInt(size), BigInt(size) / 100n]
      const said = { outpoint, capacitySat, nodeKeys, channelType: 'simplified_taproot', pushSat: 0n, reserveSat }
      const attestation = {
        capacity: size,
        node_keys: nodeKeys,
        channel_type: said.channelType,
        push_sats: '0',
        reserve_sats: `${reserveSat}`,
        signature: await sign(attestationText(said)),
      }
      await ask(product, NAME, { order_id: id, transaction: outpoint, attestation }, seller)
      return outpoint
    },
  }
}

async function ask<T>({ url }: Product, query: string, input: unknown, token?: string): Promise<T> {
  const { data, errors } = await graphql<T>(url, query, { input }, token)
  if (!data || errors) throw new Error(errors?.[0]?.message ?? 'no answer')
  return data
}
