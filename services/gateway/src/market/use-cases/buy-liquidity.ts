import { type ConnectionUri, parseConnectionUri, formatSocket } from '@penstock/bitcoin/pubkey.ts'
import { assert } from '@penstock/kernel/result.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { buyer, type AuthenticatedCaller } from '../../access.ts'
import { marketBusy, invalidInput, outcomeUnknown } from '../../errors.ts'
import { parseAmountField, parseRedirectUrl, parseTextField } from '../../input.ts'
import { noLspTerms, placeOrder, type QuoteRequest } from '../purchase/place-order.ts'
import { storeText } from '../../store-text.ts'
import { buildCheckoutUrl } from '../../pages/page-url.ts'
import type { Gateway } from '../../ports.ts'
import type { OrderView } from '../views/order-view.ts'
import { mutation } from '../../use-case.ts'
import { buyLimit } from '../purchase/buy-limit.ts'
import type { LiquidityMutationsBuyArgs } from '../../generated/schema-types.ts'

const MIN_USD_CENTS = 500n
// A million dollars: more than any offer, and small enough for exact arithmetic.
const MAX_USD_CENTS = 100_000_000n

function parsePurchase({ input }: LiquidityMutationsBuyArgs, { config }: Gateway) {
  const uri = parseConnectionUriField(input.connection_uri ?? '')
  const usdCents = parseAmountField(input.usd_cents ?? '', 'usd_cents', { min: MIN_USD_CENTS, max: MAX_USD_CENTS })
  const redirectUrl = input.redirect_url ? parseRedirectUrl(input.redirect_url, config.allowHttpRedirect) : null
  const request = {
    ...noLspTerms,
    source: 'buy' as const,
    destination: { pubkey: uri.pubkey, sockets: [formatSocket(uri)] },
    isPrivate: input.options?.private ?? false,
    railsOnly: input.options?.rails_cluster_only ?? false,
    assetId: input.options?.asset_id ? parseTextField(input.options.asset_id, 'options.asset_id', 1, 128) : null,
    usdCents: `${usdCents}`,
    sizeSat: null,
    offerId: null,
  }
  return { redirectUrl, request }
}

/** Buys a channel. Calls are not idempotent: each successful call creates a new order. */
export const buyLiquidity = mutation({
  path: 'liquidity.buy',
  limit: buyLimit,
  access: buyer,
  input: parsePurchase,
  run: async ({ redirectUrl, request }, { gateway, caller, ip }) => {
    // Created before the command is sent, so that the buyer can look up the order after any failure.
    const orderId = gateway.ids.uuid()
    const buyerKey = createBuyer(gateway, caller)
    const errorDetails = { transaction_id: orderId, session_key: buyerKey.sessionKey }
    const result = await placeOrder(gateway, {
      orderId,
      ip,
      prepare: async () => ({
        ...request,
        buyer: { accountId: buyerKey.accountId, key: buyerKey.key },
        record: redirectUrl === null ? null : await storeText(gateway, 'redirect-url', { redirect_url: redirectUrl }),
      }),
      isReady: ({ order }) => order.invoice !== null,
    })
    if (result.outcome === 'busy') throw marketBusy(result.seconds)
    if (result.outcome === 'refused') throw invalidInput(result.message, { reason: result.code })
    if (result.outcome === 'ended')
      throw invalidInput(result.stored.order.reason ?? 'The order could not be placed.', errorDetails)
    if (result.outcome === 'withdrawn')
      throw outcomeUnknown(
        'The order was not ready in time and is withdrawn. Look at it with get_order before you buy again; if the key is refused, no order was placed.',
        errorDetails,
      )
    return toBuyResult(gateway, result.stored.order, buyerKey)
  },
})

/** A text that was copied often has blanks or a line break at its ends. */
function parseConnectionUriField(text: string): ConnectionUri {
  const uri = parseConnectionUri(text.trim())
  if (!uri) throw invalidInput('connection_uri must be in <pubkey>@<host>:<port> format')
  return uri
}

type Buyer = { readonly accountId: string; readonly sessionKey: string; readonly key: QuoteRequest['buyer']['key'] }

/** A session keeps its key. An order of an account gets its own key. A caller without a credential gets a new session. */
function createBuyer({ ids, pepper }: Gateway, caller: AuthenticatedCaller | null): Buyer {
  if (caller?.kind === 'session') return { accountId: caller.accountId, sessionKey: caller.credential, key: null }
  const kind = caller ? 'order' : 'session'
  const sessionKey = newCredential(caller ? 'pok_' : 'psk_', ids)
  return { accountId: caller?.accountId ?? ids.uuid(), sessionKey, key: { kind, hash: hashCredential(pepper, sessionKey) } }
}

function toBuyResult(gateway: Gateway, order: OrderView, { accountId, sessionKey }: Buyer) {
  assert(order.invoice, `order ${order.id} is ready and has no invoice`)
  return {
    id: order.id,
    account: { id: accountId, session_key: sessionKey },
    order: { id: order.id, transaction_id: order.id, usd_cents: order.terms.usdCents },
    payment: {
      id: order.id,
      lightning_invoice: order.invoice.request,
      redirect_url: buildCheckoutUrl(gateway, order.id),
      amount: { id: order.id, sats: order.terms.priceSat },
    },
  }
}
