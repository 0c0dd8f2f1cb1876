import { computePurchaseBounds } from '@penstock/market/market.ts'
import { rankForSize } from '@penstock/market/rank.ts'
import { placeOrder, type QuoteRequest } from '../market/purchase/place-order.ts'
import { storeText } from '../store-text.ts'
import type { Gateway } from '../ports.ts'
import { readBookEntries, type LspType, createGenericRequest, type NodeSources, readPricing } from './book.ts'
import { listPublishedSellers, publishSellers } from './published-sellers.ts'
import { lspMarketBusy, type LspFault, optionMismatched, orderWithdrawn, toRefusalFault, clientRejected } from './faults.ts'
import { toLspOrder } from './order-record.ts'
import { type CreateOrderBody, type LspOrder, MIN_CONFIRMATIONS } from './schemas.ts'

export async function createOrder(
  gateway: Gateway,
  nodeSources: NodeSources,
  type: LspType,
  body: CreateOrderBody,
  ip: string,
): Promise<LspOrder | LspFault> {
  const mismatch = findOptionMismatch(gateway, body)
  if (mismatch) return mismatch
  const pubkey = body.public_key.toLowerCase()
  const token = body.token ?? ''
  const result = await placeOrder<LspFault>(gateway, {
    orderId: gateway.ids.uuid(),
    ip,
    async prepare() {
      const sellers = await selectSellers(gateway, nodeSources, type, body, pubkey)
      if (sellers !== null && 'fault' in sellers) return sellers
      const record = token === '' ? null : await storeText(gateway, 'lsps-token', { token })
      return { ...toQuoteRequest(gateway, type, body, pubkey), sellers: sellers && [...sellers], record }
    },
    isReady: ({ order }) => order.invoice !== null,
  })
  if ('fault' in result) return result
  switch (result.outcome) {
    case 'refused':
      return toRefusalFault(result.code, result.message)
    case 'busy':
      return lspMarketBusy(result.seconds)
    case 'ended':
      return clientRejected(result.stored.order.reason ?? 'The order could not be placed.')
    case 'withdrawn':
      return orderWithdrawn('The order was not ready in time and is withdrawn; nothing has to be paid. Try again later.')
    case 'ready':
      return toLspOrder(result.stored, token) ?? clientRejected('The order could not be placed.')
  }
}

/** The order gets no key, because an LSPS1 client reads an order by its id alone. */
const toQuoteRequest = (
  { ids }: Gateway,
  type: LspType,
  body: CreateOrderBody,
  pubkey: string,
): Omit<QuoteRequest, 'sellers' | 'record'> => ({
  source: `lsps1-${type}`,
  buyer: { accountId: ids.uuid(), key: null },
  // An LSPS1 request has no address. The buyer connects to a seller of get_info, or gossip has the buyer's address.
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
 * Selects the sellers that may serve the order: the sellers that get_info published recently, because the buyer should be
 * connected to them.
 * @returns null if every seller may serve: no published seller can, and gossip has an address of the buyer
 */
async function selectSellers(
  gateway: Gateway,
  nodeSources: NodeSources,
  type: LspType,
  body: CreateOrderBody,
  pubkey: string,
): Promise<readonly string[] | null | LspFault> {
  const entries = await readBookEntries(gateway)
  const pricing = await readPricing(gateway, nodeSources, entries)
  // A client that skipped get_info gets the same sellers as a client that called it.
  await publishSellers(gateway, nodeSources.peers, type, { entries, pricing })
  const publishedSellers = await listPublishedSellers(gateway, type)
  const sizeSat = BigInt(body.lsp_balance_sat)
  const bounds = computePurchaseBounds(entries, createGenericRequest(gateway, publishedSellers), pricing)
  const unserved = findSizeFault(sizeSat, bounds)
  if (unserved) return unserved
  const request = {
    ...createGenericRequest(gateway, publishedSellers),
    buyerPubkey: pubkey,
    isPrivate: !body.announce_channel,
    leaseBlocks: body.channel_expiry_blocks,
  }
  if (rankForSize(entries, request, sizeSat, type, pricing).length > 0) return publishedSellers
  const { sockets } = await nodeSources.peers.addresses(pubkey)
  return sockets.length > 0 ? null : publishedSellers
}

/** Finds the first value outside the fixed options of get_info. The quote service finds all other faults. */
function findOptionMismatch({ config }: Gateway, body: CreateOrderBody): LspFault | undefined {
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
  return undefined
}

/** Finds a size outside the bounds of get_info, which depend on the offers. */
function findSizeFault(sizeSat: bigint, bounds: ReturnType<typeof computePurchaseBounds>): LspFault | undefined {
  if (!bounds) return clientRejected('No live seller can serve an order now; try again later.')
  if (sizeSat < bounds.minSizeSat)
    return optionMismatched('min_initial_lsp_balance_sat', `lsp_balance_sat must be at least ${bounds.minSizeSat}.`)
  if (sizeSat > bounds.maxSizeSat)
    return optionMismatched('max_initial_lsp_balance_sat', `lsp_balance_sat must be at most ${bounds.maxSizeSat}.`)
  return undefined
}
