import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import { z } from 'zod'

/** Schemas of requests and answers. Requests are parsed with them, and the OpenAPI document is generated from them. */

const SATS_MESSAGE = 'must be a whole number of satoshis as a string.'
const sat = z
  .string(SATS_MESSAGE)
  .regex(/^(0|[1-9]\d{0,15})$/, SATS_MESSAGE)
  .meta({ examples: ['1000000'] })
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ examples: ['2027-01-31T12:00:00.000Z'] })

const count = (max: number) => z.int('must be a whole number.').min(0, 'must be at least 0.').max(max, `must be at most ${max}.`)
// u16 and u32, as in the wallets' libraries, so that a larger number is malformed and not an option mismatch.
const confirmations = count(65_535)
const blocks = count(4_294_967_295)

const PUBKEY_MESSAGE = "must be the 66 hex digits of a node's public key, as a string."

const text = (max: number) => {
  const message = `must be a string of at most ${max} characters.`
  return z.string(message).max(max, message)
}

/** A channel counts as open only with a confirmation. */
export const MIN_CONFIRMATIONS = 1

// The error text of a field consists of its name and the message given here. The OpenAPI document describes only the values that
// the market sells, but the parser accepts every well-formed value. If the market does not sell a value, the error names the
// option of get_info that excludes this value.
const orderFields = {
  lsp_balance_sat: sat.describe('The capacity that the buyer can receive through the channel.'),
  client_balance_sat: sat.meta({ examples: ['0'], const: '0' }).describe('Always "0": the market sells only inbound capacity.'),
  required_channel_confirmations: confirmations.meta({ examples: [3], minimum: MIN_CONFIRMATIONS }),
  funding_confirms_within_blocks: confirmations,
  channel_expiry_blocks: blocks.min(1, 'must be at least 1.').meta({ examples: [4320] }),
  token: text(512).nullish().describe('An opaque text. The answers repeat it.'),
  refund_onchain_address: text(128).nullish().describe('Not used, because all payments are Lightning payments.'),
  announce_channel: z.boolean('must be true or false.'),
  public_key: z
    .string(PUBKEY_MESSAGE)
    .regex(/^0[23][0-9a-fA-F]{64}$/, PUBKEY_MESSAGE)
    .refine((key) => isPubkey(key.toLowerCase()), PUBKEY_MESSAGE)
    .meta({ examples: ['0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'] })
    .describe("The public key of the buyer's node, in lower or upper case."),
}
export const createOrderBody = z.object(orderFields, 'must be a JSON object.')
export type CreateOrderBody = z.output<typeof createOrderBody>

export const getOrderQuery = z.object({ order_id: z.uuid('must be a UUID.') })

export const lspInfo = z.strictObject({
  min_required_channel_confirmations: confirmations,
  min_funding_confirms_within_blocks: confirmations,
  supports_zero_channel_reserve: z.boolean(),
  max_channel_expiry_blocks: blocks,
  min_initial_client_balance_sat: sat,
  max_initial_client_balance_sat: sat,
  min_initial_lsp_balance_sat: sat,
  max_initial_lsp_balance_sat: sat,
  min_channel_balance_sat: sat,
  max_channel_balance_sat: sat,
  uris: z
    .array(z.string())
    .describe('Addresses of the nodes that open channels now, as `<pubkey>@<host>:<port>`. Tor addresses come last.'),
})
export type LspInfo = z.output<typeof lspInfo>

const orderState = z.enum(['CREATED', 'COMPLETED', 'FAILED'])
const paymentState = z.enum(['EXPECT_PAYMENT', 'HOLD', 'PAID', 'REFUNDED'])

const bolt11 = z.strictObject({
  state: paymentState,
  expires_at: time,
  fee_total_sat: sat,
  order_total_sat: sat,
  invoice: z.string().describe('A hold invoice. It locks the payment, which is settled only when the channel is proven.'),
})

const channel = z.strictObject({
  funded_at: time,
  funding_outpoint: z.string().regex(/^[0-9a-f]{64}:\d{1,10}$/),
  expires_at: time.describe('The time until which the channel stays open at least, estimated with ten minutes per block.'),
})

const refund = z.strictObject({
  amount_msat: z
    .string()
    .describe(
      "The exact amount for an invoice of the buyer. The order's page takes it: the `Link` header of `create_order` with rel=alternate.",
    ),
})

export const lspOrder = z.strictObject({
  order_id: z.uuid(),
  lsp_balance_sat: sat,
  client_balance_sat: sat,
  required_channel_confirmations: confirmations,
  funding_confirms_within_blocks: confirmations,
  channel_expiry_blocks: blocks,
  token: z.string(),
  created_at: time,
  announce_channel: z.boolean(),
  order_state: orderState,
  payment: z.strictObject({ bolt11 }),
  channel: channel.nullable().describe('null until the funding transaction is published.'),
  refund: refund
    .optional()
    .describe('Only while an amount is owed to the buyer, because the seller is not paid. Not in bLIP-51.'),
})
export type LspOrder = z.output<typeof lspOrder>

export const lspError = z.strictObject({
  statusCode: z.int(),
  message: z.string(),
  error: z
    .strictObject({
      code: z
        .int()
        .describe('-32602 invalid params, 1 client rejected, 100 option mismatch, 101 not found, 102 token, -32603 internal.'),
      message: z.string(),
      data: z.strictObject({ property: z.string(), message: z.string() }),
    })
    .describe('The error as LSPS1 defines it for its own transport.'),
})
export type LspError = z.output<typeof lspError>
