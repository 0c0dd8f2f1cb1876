import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import { z } from 'zod'

/** What goes in and out, field for field: requests are read with these, and the OpenAPI document is made from them. */

const SATS = 'must be a whole number of satoshis as a string.'
const sat = z
  .string(SATS)
  .regex(/^(0|[1-9]\d{0,15})$/, SATS)
  .meta({ examples: ['1000000'] })
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ examples: ['2027-01-31T12:00:00.000Z'] })
const BLOCKS = 'must be a whole number.'
const blocks = z.int(BLOCKS)

const HEX_KEY = "must be the 66 hex digits of a node's public key, as a string."

const text = (most: number) => {
  const sentence = `must be a string of at most ${most} characters.`
  return z.string(sentence).max(most, sentence)
}

// Each sentence goes on after the name of its field.
const orderFields = {
  lsp_balance_sat: sat.describe('The capacity that the buyer can receive through the channel.'),
  client_balance_sat: sat.describe('Only inbound capacity is sold here, so this is "0".'),
  required_channel_confirmations: blocks,
  funding_confirms_within_blocks: blocks,
  channel_expiry_blocks: blocks.positive('must be at least 1.'),
  token: text(512).nullish().describe('Opaque; mirrored in answers.'),
  refund_onchain_address: text(128).nullish().describe('Not used: payments are Lightning payments.'),
  announce_channel: z.boolean('must be true or false.'),
  public_key: z
    .string(HEX_KEY)
    .regex(/^0[23][0-9a-fA-F]{64}$/, HEX_KEY)
    .refine((key) => isPubkey(key.toLowerCase()), HEX_KEY)
    .describe("The buyer's node, in either case of letters."),
}
export const createOrderBody = z.object(orderFields, 'must be a JSON object.')
export type CreateOrderBody = z.output<typeof createOrderBody>

export const getOrderQuery = z.object({ order_id: z.uuid('must be a UUID.') })

export const lspInfo = z.strictObject({
  min_required_channel_confirmations: blocks,
  min_funding_confirms_within_blocks: blocks,
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
    .describe('Addresses of the very nodes that open channels now, `<pubkey>@<host>:<port>`; those on the clear net come first.'),
})
export type LspInfo = z.output<typeof lspInfo>

const orderState = z.enum(['CREATED', 'COMPLETED', 'FAILED'])
const paymentState = z.enum(['EXPECT_PAYMENT', 'HOLD', 'PAID', 'REFUNDED'])

const bolt11 = z.strictObject({
  state: paymentState,
  expires_at: time,
  fee_total_sat: sat,
  order_total_sat: sat,
  invoice: z.string().describe('A hold invoice: the payment is locked, and taken only when the channel is proven.'),
})

const channel = z.strictObject({
  funded_at: time,
  funding_outpoint: z.string().regex(/^[0-9a-f]{64}:\d{1,10}$/),
  expires_at: time.describe('Until when the channel stays open at least, at ten minutes a block.'),
})

export const lspOrder = z.strictObject({
  order_id: z.uuid(),
  lsp_balance_sat: sat,
  client_balance_sat: sat,
  required_channel_confirmations: blocks,
  funding_confirms_within_blocks: blocks,
  channel_expiry_blocks: blocks,
  token: z.string(),
  created_at: time,
  announce_channel: z.boolean(),
  order_state: orderState,
  payment: z.strictObject({ bolt11 }),
  channel: channel.nullable().describe('null until the funding transaction is published.'),
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
    .describe('The same as LSPS1 says it over its own transport.'),
})
export type LspError = z.output<typeof lspError>
