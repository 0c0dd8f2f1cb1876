import type { ChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { z } from 'zod'
import { type ApiOptions, type MarketCall, MarketRefusal, openMarketApi } from './api.ts'

/** A sale as the market lists it. */
export type ListedSale = {
  readonly orderId: string
  readonly status: string
  readonly sizeSat: string
  readonly sellerSat: string
  readonly peer: string
  readonly sockets: readonly string[]
  readonly isPrivate: boolean
  /** Blocks for which the channel has to stay open; left out if the market does not send them. */
  readonly leaseBlocks?: number
}

/** The state of an order for this seller. `closing`: the reason, while the order is closing. */
export type OrderSummary = {
  readonly status: string
  readonly closing: string | undefined
  /** The last height at which its funding may be published; undefined if the market sends none. */
  readonly publishUntil: number | undefined
  /** Whether the operator pays for its channel; null if no loss is recorded, undefined if the market does not send it. */
  readonly operatorLoss: 'ASKED' | 'BORNE' | 'REFUTED' | null | undefined
}

/** The part of the market's public API that a seller with an API key needs. */
export type MarketClient = {
  /** The sales that wait for an action of this seller. */
  listPendingSales(): Promise<readonly ListedSale[]>
  /** @returns undefined if the market knows no such order of this seller */
  findOrder(orderId: string): Promise<OrderSummary | undefined>
  /** Submits an invoice for the seller's payout. @throws MarketRefusal */
  accept(orderId: string, request: string): Promise<void>
  /**
   * Submits the funding outpoint. After the return, the market expects this funding. A repeated call has no effect.
   * @throws MarketRefusal
   * @returns the last height at which the funding may be published; undefined if the market sends none
   */
  submitOutpoint(orderId: string, attestation: ChannelAttestation): Promise<number | undefined>
  /** Cancels the attempt because the buyer's node is unreachable. The market then tries to reach it. @throws MarketRefusal */
  cancelUnreachable(orderId: string): Promise<void>
  /** @param funds `at`: milliseconds since 1970 */
  attest(funds: {
    readonly pubkey: string
    readonly confirmedSats: bigint
    readonly at: number
    readonly signature: string
  }): Promise<void>
}

const SALES_QUERY = `query AgentSales($page: PageInput, $input: OrderInput) { user { market { orders { sales(page: $page, input: $input) {
  total list { id status size fees { seller { sats } } destination { pubkey sockets } options { private }
  promises { locked_min_block_length } } } } } } }`
const orderQueryWith = (fields: string): string =>
  `query AgentOrder($id: String!) { user { market { orders { get_order(order_id: $id) { ${fields} } } } } }`
const ACCEPT_MUTATION =
  'mutation AgentAccept($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const nameMutationWith = (fields: string): string =>
  `mutation AgentName($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { ${fields} } } } } }`
const CANCEL_MUTATION =
  'mutation AgentCancel($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const ATTEST_MUTATION = 'mutation AgentAttest($input: AttestInput!) { market { offer { attest(input: $input) { success } } } }'

const heightSchema = z.number().int().nullish()
const satsSchema = z.string().regex(/^\d{1,16}$/)
const saleSchema = z.object({
  id: z.string(),
  status: z.string(),
  size: satsSchema,
  fees: z.object({ seller: z.object({ sats: satsSchema }) }),
  destination: z.object({ pubkey: z.string(), sockets: z.array(z.string()).nullish() }),
  options: z.object({ private: z.boolean().nullish() }).nullish(),
  promises: z.object({ locked_min_block_length: z.number().int() }).nullish(),
})
const salesSchema = z.object({
  user: z.object({
    market: z.object({ orders: z.object({ sales: z.object({ total: z.number(), list: z.array(saleSchema) }) }) }),
  }),
})
const orderSchema = z.object({
  user: z.object({
    market: z.object({
      orders: z.object({
        get_order: z.object({
          status: z.string(),
          closing: z.string().nullish(),
          broadcast_until_height: heightSchema,
          payout: z.object({ operator_loss: z.enum(['ASKED', 'BORNE', 'REFUTED']).nullable() }).nullish(),
        }),
      }),
    }),
  }),
})
const addTransactionSchema = z.object({
  market: z.object({
    order: z.object({ seller: z.object({ add_transaction: z.object({ broadcast_until_height: heightSchema }).nullable() }) }),
  }),
})
/** A mutation succeeds if its answer has no errors. */
const anyAnswer = z.unknown()

const PAGE_SIZE = 100
// Messages of the market. Only this message shows that the order is unknown; no other refusal makes the agent abandon a funding.
const UNKNOWN_ORDER_MESSAGE = 'Order not found'
const UNKNOWN_FIELD_PREFIX = 'Cannot query field "'

export function openMarketClient(options: ApiOptions): MarketClient {
  const call = openMarketApi(options)
  return {
    async listPendingSales() {
      const all: z.output<typeof saleSchema>[] = []
      for (;;) {
        const variables = { page: { limit: PAGE_SIZE, offset: all.length }, input: { action_needed: true } }
        const { total, list } = (await call(SALES_QUERY, variables, salesSchema)).user.market.orders.sales
        all.push(...list)
        if (list.length === 0 || all.length >= total) return all.map(toListedSale)
      }
    },
    async findOrder(orderId) {
      try {
        const { status, closing, broadcast_until_height, payout } = await readOrder(call, orderId)
        return {
          status,
          closing: closing ?? undefined,
          publishUntil: broadcast_until_height ?? undefined,
          operatorLoss: payout?.operator_loss,
        }
      } catch (error) {
        if (error instanceof MarketRefusal && error.message === UNKNOWN_ORDER_MESSAGE) return undefined
        throw error
      }
    },
    async accept(orderId, request) {
      await call(ACCEPT_MUTATION, { input: { order_id: orderId, request } }, anyAnswer)
    },
    async submitOutpoint(orderId, attestation) {
      const input = { order_id: orderId, transaction: attestation.outpoint, attestation: toAttestationInput(attestation) }
      const request = async (fields: string) =>
        (await call(nameMutationWith(fields), { input }, addTransactionSchema)).market.order.seller.add_transaction
      const answer = await queryNewestFields(request, ['success broadcast_until_height', 'success'])
      return answer?.broadcast_until_height ?? undefined
    },
    async cancelUnreachable(orderId) {
      await call(CANCEL_MUTATION, { input: { order_id: orderId, cancellation_reason: 'UNABLE_TO_CONNECT_TO_NODE' } }, anyAnswer)
    },
    async attest({ pubkey, confirmedSats, at, signature }) {
      await call(ATTEST_MUTATION, { input: { pubkey, confirmed_sats: `${confirmedSats}`, at: `${at}`, signature } }, anyAnswer)
    },
  }
}

const readOrder = (call: MarketCall, orderId: string) =>
  queryNewestFields(
    async (fields) => (await call(orderQueryWith(fields), { id: orderId }, orderSchema)).user.market.orders.get_order,
    [
      'id status closing broadcast_until_height payout { operator_loss }',
      'id status closing broadcast_until_height',
      'id status closing',
      'id status',
    ],
  )

/** Retries with fewer fields, because an earlier release of the market refuses a document with unknown fields. */
async function queryNewestFields<T>(
  request: (fields: string) => Promise<T>,
  [newest = '', ...older]: readonly string[],
): Promise<T> {
  try {
    return await request(newest)
  } catch (error) {
    if (older.length > 0 && error instanceof MarketRefusal && error.message.startsWith(UNKNOWN_FIELD_PREFIX))
      return queryNewestFields(request, older)
    throw error
  }
}

const toListedSale = ({ id, status, size, fees, destination, options, promises }: z.output<typeof saleSchema>): ListedSale => ({
  orderId: id,
  status,
  sizeSat: size,
  sellerSat: fees.seller.sats,
  peer: destination.pubkey,
  sockets: destination.sockets ?? [],
  isPrivate: options?.private === true,
  ...(promises && { leaseBlocks: promises.locked_min_block_length }),
})

const toAttestationInput = (attestation: ChannelAttestation) => ({
  capacity: `${attestation.capacitySat}`,
  node_keys: attestation.nodeKeys,
  ...(attestation.fundingKeys && { funding_keys: attestation.fundingKeys }),
  channel_type: attestation.channelType,
  push_sats: `${attestation.pushSat}`,
  reserve_sats: `${attestation.reserveSat}`,
  signature: attestation.signature,
})
