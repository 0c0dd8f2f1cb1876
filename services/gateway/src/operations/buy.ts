import { type ConnectionUri, parseConnectionUri, socketOf } from '@penstock/bitcoin/pubkey.ts'
import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { createHash } from 'node:crypto'
import type { Caller } from '../callers.ts'
import { forbidden, invalid, unanswered } from '../errors.ts'
import { amountOf, redirectUrlOf, textOf } from '../input.ts'
import { checkoutUrl } from '../pages/address.ts'
import type { Gateway } from '../ports.ts'
import type { OrderView } from '../views/order-view.ts'
import { placeOrder, type Wish } from './place-order.ts'

export type BuyInput = {
  readonly connection_uri?: string | null
  readonly usd_cents?: string | null
  readonly redirect_url?: string | null
  readonly options?: {
    readonly private?: boolean | null
    readonly rails_cluster_only?: boolean | null
    readonly asset_id?: string | null
  } | null
}

const MIN_USD_CENTS = 500n
// A million dollars: far beyond every offer, and no number that arithmetic could choke on.
const MAX_USD_CENTS = 100_000_000n

export type From = { readonly caller: Caller | null; readonly ip: string }

/** `liquidity.buy`: nothing is remembered between calls, so each one that succeeds makes an order of its own. */
export async function buy(gateway: Gateway, { caller, ip }: From, input: BuyInput) {
  const uri = connectionUriOf(input.connection_uri ?? '')
  const usdCents = amountOf(input.usd_cents ?? '', 'usd_cents', { min: MIN_USD_CENTS, max: MAX_USD_CENTS })
  const redirectUrl = input.redirect_url ? redirectUrlOf(input.redirect_url, gateway.config.allowHttpRedirect) : null
  const assetId = input.options?.asset_id ? textOf(input.options.asset_id, 'options.asset_id', 1, 128) : null

  // Made before anything is sent, so that the buyer can look whatever happens.
  const orderId = gateway.ids.uuid()
  const buyer = buyerFor(gateway, caller)
  const record = redirectUrl === null ? null : await keepText(gateway, 'redirect-url', { redirect_url: redirectUrl })
  const needed = { transaction_id: orderId, session_key: buyer.sessionKey }
  const placed = await placeOrder(gateway, {
    orderId,
    ip,
    wish: {
      ...plainWish,
      buyer: { accountId: buyer.accountId, key: buyer.key },
      destination: { pubkey: uri.pubkey, sockets: [socketOf(uri)] },
      isPrivate: input.options?.private ?? false,
      railsOnly: input.options?.rails_cluster_only ?? false,
      assetId,
      usdCents: `${usdCents}`,
      record,
    },
    isReady: ({ order }) => order.invoice !== null,
  })
  if (placed.outcome === 'refused') {
    if (record) await gateway.records.delete(record.id)
    throw invalid(placed.message, { reason: placed.code })
  }
  if (placed.outcome === 'ended') throw invalid(placed.stored.order.reason ?? 'The order could not be placed.', needed)
  if (placed.outcome === 'withdrawn')
    throw unanswered('The order was not ready in time and is withdrawn. Look at it with get_order before you buy again.', needed)
  return bought(gateway, placed.stored.order, buyer)
}

const plainWish: Pick<
  Wish,
  'source' | 'sizeSat' | 'offerId' | 'sellers' | 'leaseBlocks' | 'requiredConfirmations' | 'fundingConfirmsWithinBlocks' | 'lsps'
> = {
  source: 'buy',
  sizeSat: null,
  offerId: null,
  sellers: null,
  leaseBlocks: null,
  requiredConfirmations: null,
  fundingConfirmsWithinBlocks: null,
  lsps: null,
}

function connectionUriOf(text: string): ConnectionUri {
  const uri = parseConnectionUri(text)
  if (!uri) throw invalid('connection_uri must be in <pubkey>@<host>:<port> format')
  return uri
}

type Buyer = { readonly accountId: string; readonly sessionKey: string; readonly key: Wish['buyer']['key'] }

/** A session goes on under its own key; an account's order gets a key that reads this order only; a stranger becomes somebody. */
function buyerFor({ ids, pepper }: Gateway, caller: Caller | null): Buyer {
  if (caller?.kind === 'order')
    throw forbidden('This key reads one order only. Buy with the key of your account, or without one.')
  if (caller?.kind === 'session') return { accountId: caller.accountId, sessionKey: caller.credential, key: null }
  const kind = caller ? 'order' : 'session'
  const sessionKey = newCredential(caller ? 'pok_' : 'psk_', ids)
  return { accountId: caller?.accountId ?? ids.uuid(), sessionKey, key: { kind, hash: hashCredential(pepper, sessionKey) } }
}

/** A person's text stands beside the facts, where it can be deleted; the fact has its id and a hash that gives nothing away. */
export async function keepText(
  { records, ids, clock }: Gateway,
  kind: string,
  texts: object,
): Promise<{ id: string; hash: string }> {
  const id = ids.uuid()
  const json = JSON.stringify({ ...texts, salt: Buffer.from(ids.random(16)).toString('hex') })
  await records.put(id, kind, json, clock.now())
  return { id, hash: createHash('sha256').update(json).digest('hex') }
}

function bought(gateway: Gateway, order: OrderView, { accountId, sessionKey }: Buyer) {
  return {
    id: order.id,
    account: { id: accountId, session_key: sessionKey },
    order: { id: order.id, transaction_id: order.id, usd_cents: order.terms.usdCents },
    payment: {
      id: order.id,
      lightning_invoice: order.invoice?.request ?? null,
      redirect_url: checkoutUrl(gateway, order.id),
      amount: { id: order.id, sats: order.terms.priceSat },
    },
  }
}
