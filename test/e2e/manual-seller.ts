import assert from 'node:assert/strict'
import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { requestData, type SimulatedNode, listSimNodes } from '../support/market-client.ts'
import type { Product } from '../support/product.ts'
import {
  ACCEPT_MUTATION,
  ADD_TRANSACTION_MUTATION,
  CHALLENGE_MUTATION,
  CONNECT_MUTATION,
  CREATE_OFFER_MUTATION,
  CREATE_ORDER_MUTATION,
} from '../support/market-operations.ts'

/** Expiry of payout invoices. The market requires more than 48 hours. */
const INVOICE_SECONDS = 604_800
const OFFER_TERMS = {
  total_size: '100000000',
  min_size: '1000000',
  max_size: '10000000',
  min_block_length: 4320,
  base_fee: '500',
  fee_rate: 2000,
  base_fee_cap: '1000',
  fee_rate_cap: 500,
}

const ACCOUNT_MUTATION = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const SALES_QUERY =
  'query ($input: OrderInput) { user { market { orders { sales(input: $input) { list { id size fees { seller { sats } } } } } } } }'
const INVOICE_QUERY =
  'query ($input: String!) { user { market { orders { get_order(order_id: $input) { payment { lightning { invoice } } } } } } }'

type Sale = { readonly id: string; readonly size: string; readonly fees: { readonly seller: { readonly sats: string } } }
type OrderAccess = { readonly id: string; readonly key: string }

/** A seller without an agent, on the spare node. The test performs each step of the seller and of its buyer. */
export type ManualSeller = {
  readonly node: SimulatedNode
  /** Orders a channel to the buyer's node from the offer, private by default. @throws Error with the refusal */
  readonly placeOrder: (buyer: SimulatedNode, isPrivate?: boolean) => Promise<OrderAccess>
  readonly findSale: (order: OrderAccess) => Promise<Sale | undefined>
  /** @returns the payment hash of the payout */
  readonly accept: (sale: Sale) => Promise<string>
  /** @returns the invoice that the buyer has to pay; null if there is none yet */
  readonly readInvoice: (order: OrderAccess) => Promise<string | null>
  /** Submits any outpoint as the sold channel. @throws Error with the refusal */
  readonly submitOutpoint: (order: OrderAccess, outpoint: string) => Promise<void>
  /** Sends a mutation with the seller's token. @throws Error with the refusal */
  readonly send: (mutation: string, input: object) => Promise<void>
  /** Opens the sold channel as a private taproot channel, and submits it with a signed attestation. @returns its outpoint */
  readonly openTaproot: (sale: Sale, buyer: SimulatedNode) => Promise<string>
}

/** Purchases at the best price use only offers with standing acceptance. By default the offer has none, so they do not use it. */
export async function createManualSeller(product: Product, { autoAccept = false } = {}): Promise<ManualSeller> {
  const node = (await listSimNodes(product)).find(({ role }) => role === 'spare') ?? assert.fail('there is no spare node')
  const { alias, pubkey } = node
  const sign = async (text: string) =>
    (await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text })).signature
  const [sellerToken, buyerToken] = [await createAccount(product, 'by-hand'), await createAccount(product, 'buys-by-hand')]
  await connectNode(product, pubkey, sign, sellerToken)
  const offer_id = await createOffer(product, { pubkey, ...OFFER_TERMS, auto_accept: autoAccept }, sellerToken)
  const send = async (mutation: string, input: object): Promise<void> =>
    void (await requestData(product, mutation, { input }, sellerToken))
  return {
    node,
    async placeOrder(buyer, isPrivate = true) {
      const input = { offer_id, pubkey: buyer.pubkey, size: OFFER_TERMS.min_size, options: { private: isPrivate } }
      type CreatedOrder = { market: { order: { create: { id: string } } } }
      return {
        id: (await requestData<CreatedOrder>(product, CREATE_ORDER_MUTATION, { input }, buyerToken)).market.order.create.id,
        key: buyerToken,
      }
    },
    async findSale({ id }) {
      type Sales = { user: { market: { orders: { sales: { list: readonly Sale[] } } } } }
      const { list } = (await requestData<Sales>(product, SALES_QUERY, { input: { action_needed: true } }, sellerToken)).user
        .market.orders.sales
      return list.find((sale) => sale.id === id)
    },
    async accept({ id, fees }) {
      const request = { alias, sats: fees.seller.sats, expirySeconds: INVOICE_SECONDS }
      const payoutInvoice = await product.operator<{ invoice: string; payment_hash: string }>('POST', '/sim/invoice', request)
      await send(ACCEPT_MUTATION, { order_id: id, request: payoutInvoice.invoice })
      return payoutInvoice.payment_hash
    },
    async readInvoice({ id }) {
      type InvoiceData = {
        user: { market: { orders: { get_order: { payment: { lightning: { invoice: string | null } | null } | null } } } }
      }
      const { payment } = (await requestData<InvoiceData>(product, INVOICE_QUERY, { input: id }, buyerToken)).user.market.orders
        .get_order
      return payment?.lightning?.invoice ?? null
    },
    send,
    submitOutpoint: ({ id }, transaction) => send(ADD_TRANSACTION_MUTATION, { order_id: id, transaction }),
    openTaproot: (sale, buyer) => openTaproot(product, { node, sign, send }, sale, buyer),
  }
}

type Signer = { readonly sign: (text: string) => Promise<string> }

async function openTaproot(
  product: Product,
  { node: { alias, pubkey }, sign, send }: Pick<ManualSeller, 'node' | 'send'> & Signer,
  { id, size }: Sale,
  buyer: SimulatedNode,
): Promise<string> {
  const request = { alias, pubkey: buyer.pubkey, sats: size, private: true, taproot: true }
  const { outpoint } = await product.operator<{ outpoint: string }>('POST', '/sim/open', request)
  const nodeKeys = [pubkey, buyer.pubkey] as const
  const [capacitySat, reserveSat] = [BigInt(size), BigInt(size) / 100n]
  const attestationData = { outpoint, capacitySat, nodeKeys, channelType: 'simplified_taproot', pushSat: 0n, reserveSat }
  const attestation = {
    capacity: size,
    node_keys: nodeKeys,
    channel_type: attestationData.channelType,
    push_sats: '0',
    reserve_sats: `${reserveSat}`,
    signature: await sign(formatChannelAttestation(attestationData)),
  }
  await send(ADD_TRANSACTION_MUTATION, { order_id: id, transaction: outpoint, attestation })
  return outpoint
}

/** @returns the dashboard token of a new account */
export async function createAccount(product: Product, name: string): Promise<string> {
  const input = { email: `${name}@example.org`, password: 'correct horse battery staple' }
  return (await requestData<{ account: { create: { token: string } } }>(product, ACCOUNT_MUTATION, { input })).account.create
    .token
}

async function createOffer(product: Product, input: object, token: string): Promise<string> {
  type Offered = { market: { offer: { create: { offer_id: string } } } }
  return (await requestData<Offered>(product, CREATE_OFFER_MUTATION, { input }, token)).market.offer.create.offer_id
}

async function connectNode(
  product: Product,
  pubkey: string,
  sign: (text: string) => Promise<string>,
  token: string,
): Promise<void> {
  type Challenge = { account: { node: { challenge: string } } }
  const { challenge } = (await requestData<Challenge>(product, CHALLENGE_MUTATION, { pubkey }, token)).account.node
  const input = { pubkey, challenge, signature: await sign(challenge) }
  await requestData(product, CONNECT_MUTATION, { input }, token)
}
