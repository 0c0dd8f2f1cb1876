import { boundsOf } from '@penstock/market/market.ts'
import { forSize } from '@penstock/market/rank.ts'
import { keepText } from '../operations/buy.ts'
import { placeOrder, type Wish } from '../operations/place-order.ts'
import type { Gateway } from '../ports.ts'
import { bookEntries, type LspType, openWish, type Outside, pricingOf } from './book.ts'
import { namedLately, namedNow } from './epochs.ts'
import { type Fault, optionMismatched, refusal, rejected } from './faults.ts'
import { MIN_CONFIRMATIONS } from './info.ts'
import { lspOrderOf } from './order-record.ts'
import type { CreateOrderBody, LspOrder } from './schemas.ts'

export async function createOrder(
  gateway: Gateway,
  outside: Outside,
  type: LspType,
  body: CreateOrderBody,
  ip: string,
): Promise<LspOrder | Fault> {
  const pubkey = body.public_key.toLowerCase()
  const sellers = await sellersFor(gateway, outside, type, body, pubkey)
  if (sellers !== null && 'fault' in sellers) return sellers
  const token = body.token ?? ''
  const record = token === '' ? null : await keepText(gateway, 'lsps-token', { token })
  const placed = await placeOrder(gateway, {
    orderId: gateway.ids.uuid(),
    ip,
    wish: { ...wishOf(gateway, type, body, pubkey), sellers: sellers && [...sellers], record },
    isReady: ({ order }) => order.invoice !== null,
  })
  switch (placed.outcome) {
    case 'refused':
      if (record) await gateway.records.delete(record.id)
      return refusal(placed.code, placed.message)
    case 'ended':
      return rejected(placed.stored.order.reason ?? 'The order could not be placed.')
    case 'withdrawn':
      return rejected('The order was not ready in time and is withdrawn; nothing has to be paid. Try again later.')
    case 'ready':
      return lspOrderOf(placed.stored, token) ?? rejected('The order could not be placed.')
  }
}

/** Nobody holds a key to this order: its id is all that a client of LSPS1 has. */
const wishOf = ({ ids }: Gateway, type: LspType, body: CreateOrderBody, pubkey: string): Omit<Wish, 'sellers' | 'record'> => ({
  source: `lsps1-${type}`,
  buyer: { accountId: ids.uuid(), key: null },
  // LSPS1 knows no address: the buyer is connected to the sellers that get_info named, or gossip finds it.
  destination: { pubkey, sockets: [] },
  isPrivate: !body.announce_channel,
  railsOnly: false,
  assetId: null,
  usdCents: null,
  sizeSat: body.lsp_balance_sat,
  offerId: null,
  leaseBlocks: body.channel_expiry_blocks,
  requiredConfirmations: body.required_channel_confirmations,
  fundingConfirmsWithinBlocks: body.funding_confirms_within_blocks,
  lsps: {
    lspBalanceSat: body.lsp_balance_sat,
    clientBalanceSat: body.client_balance_sat,
    requiredChannelConfirmations: body.required_channel_confirmations,
    fundingConfirmsWithinBlocks: body.funding_confirms_within_blocks,
    channelExpiryBlocks: body.channel_expiry_blocks,
    announceChannel: body.announce_channel,
  },
})

/**
 * Who may serve: the sellers that get_info named lately, to which the buyer is connected by now. Anybody (null) only
 * where none of them can, and gossip knows where the buyer is.
 */
async function sellersFor(
  gateway: Gateway,
  outside: Outside,
  type: LspType,
  body: CreateOrderBody,
  pubkey: string,
): Promise<readonly string[] | null | Fault> {
  const entries = await bookEntries(gateway)
  const pricing = await pricingOf(gateway, outside, entries)
  // Whoever never asked get_info gets the same sellers as those who did.
  await namedNow(gateway, outside.peers, type, { entries, pricing })
  const named = await namedLately(gateway, type)
  const sizeSat = BigInt(body.lsp_balance_sat)
  const mismatch = mismatchOf(gateway, body, boundsOf(entries, openWish(gateway, named), pricing))
  if (mismatch) return mismatch
  const wish = {
    ...openWish(gateway, named),
    buyerPubkey: pubkey,
    isPrivate: !body.announce_channel,
    leaseBlocks: body.channel_expiry_blocks,
  }
  if (forSize(entries, wish, sizeSat, type, pricing).length > 0) return named
  const { sockets } = await outside.peers.addresses(pubkey)
  return sockets.length > 0 ? null : named
}

/** Values beside what get_info says. What only the whole quote shows is refused there. */
function mismatchOf({ config }: Gateway, body: CreateOrderBody, bounds: ReturnType<typeof boundsOf>): Fault | undefined {
  const sizeSat = BigInt(body.lsp_balance_sat)
  if (body.client_balance_sat !== '0')
    return optionMismatched(
      'max_initial_client_balance_sat',
      'client_balance_sat must be "0": only inbound capacity is sold here.',
    )
  if (body.required_channel_confirmations < MIN_CONFIRMATIONS)
    return optionMismatched(
      'min_required_channel_confirmations',
      `required_channel_confirmations must be at least ${MIN_CONFIRMATIONS}.`,
    )
  if (body.funding_confirms_within_blocks < config.fundingConfirmsWithinBlocks)
    return optionMismatched(
      'min_funding_confirms_within_blocks',
      `funding_confirms_within_blocks must be at least ${config.fundingConfirmsWithinBlocks}.`,
    )
  if (body.channel_expiry_blocks > config.maxChannelExpiryBlocks)
    return optionMismatched(
      'max_channel_expiry_blocks',
      `channel_expiry_blocks must be at most ${config.maxChannelExpiryBlocks}.`,
    )
  if (!bounds) return rejected('No live seller can serve an order now; try again later.')
  if (sizeSat < bounds.minSizeSat)
    return optionMismatched('min_initial_lsp_balance_sat', `lsp_balance_sat must be at least ${bounds.minSizeSat}.`)
  if (sizeSat > bounds.maxSizeSat)
    return optionMismatched('max_initial_lsp_balance_sat', `lsp_balance_sat must be at most ${bounds.maxSizeSat}.`)
  return undefined
}
