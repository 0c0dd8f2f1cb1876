import type { Attestation } from '@penstock/bitcoin/attestation.ts'
import { z } from 'zod'
import { type ApiOptions, type Call, MarketRefusal, openApi } from './api.ts'

/** A sale as the market lists it. */
export type ListedSale = {
  readonly orderId: string
  readonly status: string
  readonly sizeSat: string
  readonly sellerSat: string
  readonly peer: string
  readonly sockets: readonly string[]
  readonly isPrivate: boolean
  /** For how long the channel stays open; left out where the market does not say. */
  readonly leaseBlocks?: number
}

/** How an order stands for this seller. `closing`: why its payment is on its way back, while it is. */
export type Standing = {
  readonly status: string
  readonly closing: string | undefined
  /** The last height at which its funding may be published; undefined where the market tells none. */
  readonly publishUntil: number | undefined
  /** Whether the operator pays for its channel; null where nobody asks that, undefined where the market does not tell. */
  readonly operatorLoss: 'ASKED' | 'BORNE' | 'REFUTED' | null | undefined
}

/** The market's public interface, as far as a seller with an API key needs it. */
export type Market = {
  /** Everything that waits for this seller. */
  salesToDo(): Promise<readonly ListedSale[]>
  /** @returns undefined where the market knows no such order of this seller's */
  standing(orderId: string): Promise<Standing | undefined>
  /** Gives the invoice that the seller wants to be paid by. @throws MarketRefusal */
  accept(orderId: string, request: string): Promise<void>
  /**
   * Names the funding; once it returns, the market relies on it. Again is harmless. @throws MarketRefusal
   * @returns the last height at which the funding may be published; undefined where the market tells none
   */
  nameFunding(orderId: string, attestation: Attestation): Promise<number | undefined>
  /** Gives up the turn, since the buyer's node cannot be reached: the market tries it by itself. @throws MarketRefusal */
  cancelUnreachable(orderId: string): Promise<void>
  /** @param funds `at`: milliseconds since 1970 */
  attest(funds: {
    readonly pubkey: string
    readonly confirmedSats: bigint
    readonly at: number
    readonly signature: string
  }): Promise<void>
}

const SALES = `query AgentSales($page: PageInput, $input: OrderInput) { user { market { orders { sales(page: $page, input: $input) {
  total list { id status size fees { seller { sats } } destination { pubkey sockets } options { private }
  promises { locked_min_block_length } } } } } } }`
const orderWith = (fields: string): string =>
  `query AgentOrder($id: String!) { user { market { orders { get_order(order_id: $id) { ${fields} } } } } }`
const ACCEPT =
  'mutation AgentAccept($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const nameWith = (fields: string): string =>
  `mutation AgentName($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { ${fields} } } } } }`
const CANCEL = 'mutation AgentCancel($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const ATTEST = 'mutation AgentAttest($input: AttestInput!) { market { offer { attest(input: $input) { success } } } }'

const height = z.number().int().nullish()
const sats = z.string().regex(/^\d{1,16}$/)
const sale = z.object({
  id: z.string(),
  status: z.string(),
  size: sats,
  fees: z.object({ seller: z.object({ sats }) }),
  destination: z.object({ pubkey: z.string(), sockets: z.array(z.string()).nullish() }),
  options: z.object({ private: z.boolean().nullish() }).nullish(),
  promises: z.object({ locked_min_block_length: z.number().int() }).nullish(),
})
const sales = z.object({
  user: z.object({ market: z.object({ orders: z.object({ sales: z.object({ total: z.number(), list: z.array(sale) }) }) }) }),
})
const order = z.object({
  user: z.object({
    market: z.object({
      orders: z.object({
        get_order: z.object({
          status: z.string(),
          closing: z.string().nullish(),
          broadcast_until_height: height,
          payout: z.object({ operator_loss: z.enum(['ASKED', 'BORNE', 'REFUTED']).nullable() }).nullish(),
        }),
      }),
    }),
  }),
})
const named = z.object({
  market: z.object({
    order: z.object({ seller: z.object({ add_transaction: z.object({ broadcast_until_height: height }).nullable() }) }),
  }),
})
/** The wanted answer of a mutation is that there are no errors. */
const done = z.unknown()

const PAGE = 100
// The market's own words. Any other refusal says nothing about the order, and no funding is given up for it.
const UNKNOWN = 'Order not found'
const UNKNOWN_FIELD = 'Cannot query field "'

export function openMarket(options: ApiOptions): Market {
  const call = openApi(options)
  return {
    async salesToDo() {
      const all: z.output<typeof sale>[] = []
      for (;;) {
        const variables = { page: { limit: PAGE, offset: all.length }, input: { action_needed: true } }
        const { total, list } = (await call(SALES, variables, sales)).user.market.orders.sales
        all.push(...list)
        if (list.length === 0 || all.length >= total) return all.map(listed)
      }
    },
    async standing(orderId) {
      try {
        const { status, closing, broadcast_until_height, payout } = await readOrder(call, orderId)
        return {
          status,
          closing: closing ?? undefined,
          publishUntil: broadcast_until_height ?? undefined,
          operatorLoss: payout?.operator_loss,
        }
      } catch (error) {
        if (error instanceof MarketRefusal && error.message === UNKNOWN) return undefined
        throw error
      }
    },
    async accept(orderId, request) {
      await call(ACCEPT, { input: { order_id: orderId, request } }, done)
    },
    async nameFunding(orderId, attestation) {
      const input = { order_id: orderId, transaction: attestation.outpoint, attestation: wire(attestation) }
      const ask = async (fields: string) => (await call(nameWith(fields), { input }, named)).market.order.seller.add_transaction
      const told = await newestOf(ask, ['success broadcast_until_height', 'success'])
      return told?.broadcast_until_height ?? undefined
    },
    async cancelUnreachable(orderId) {
      await call(CANCEL, { input: { order_id: orderId, cancellation_reason: 'UNABLE_TO_CONNECT_TO_NODE' } }, done)
    },
    async attest({ pubkey, confirmedSats, at, signature }) {
      await call(ATTEST, { input: { pubkey, confirmed_sats: `${confirmedSats}`, at: `${at}`, signature } }, done)
    },
  }
}

const readOrder = (call: Call, orderId: string) =>
  newestOf(
    async (fields) => (await call(orderWith(fields), { id: orderId }, order)).user.market.orders.get_order,
    [
      'id status closing broadcast_until_height payout { operator_loss }',
      'id status closing broadcast_until_height',
      'id status closing',
      'id status',
    ],
  )

/** A market of an earlier release knows fewer fields, and refuses the whole document before it does anything. */
async function newestOf<T>(ask: (fields: string) => Promise<T>, [newest = '', ...older]: readonly string[]): Promise<T> {
  try {
    return await ask(newest)
  } catch (error) {
    if (older.length > 0 && error instanceof MarketRefusal && error.message.startsWith(UNKNOWN_FIELD)) return newestOf(ask, older)
    throw error
  }
}

const listed = ({ id, status, size, fees, destination, options, promises }: z.output<typeof sale>): ListedSale => ({
  orderId: id,
  status,
  sizeSat: size,
  sellerSat: fees.seller.sats,
  peer: destination.pubkey,
  sockets: destination.sockets ?? [],
  isPrivate: options?.private === true,
  ...(promises && { leaseBlocks: promises.locked_min_block_length }),
})

const wire = (attestation: Attestation) => ({
  capacity: `${attestation.capacitySat}`,
  node_keys: attestation.nodeKeys,
  ...(attestation.fundingKeys && { funding_keys: attestation.fundingKeys }),
  channel_type: attestation.channelType,
  push_sats: `${attestation.pushSat}`,
  reserve_sats: `${attestation.reserveSat}`,
  signature: attestation.signature,
})
