import { buy, type Bought, buyerOf, graphql, type SimNode } from '../harness/buyer.ts'
import type { Market } from './market.ts'
import { openOwners, type Owners } from './owners.ts'
import type { Caller } from './shot.ts'
import type { Identity } from './trespass.ts'

/** Credentials of every kind, taken anew where a shot has rightly ended one (a log-out, a revoked key). */
export type Callers = {
  readonly authorization: (caller: Caller) => string | undefined
  /** @returns how many commands that took */
  readonly renew: (caller: Caller) => Promise<number>
  /** Undefined for whoever is nobody here. */
  readonly identityOf: (caller: Caller) => Identity | undefined
  readonly owners: Owners
  readonly bought: { readonly session: Bought; readonly order: Bought }
}

export const PASSWORD = 'correct horse battery staple'
const EMAILS = { dashboard: 'buyer@example.org', seller: 'seller@example.org' }

type Login = { readonly id: string; readonly token: string }

export async function openCallers(market: Market): Promise<Callers> {
  const { url } = market.product
  const account = (name: 'create' | 'login', email: string) => loginBy(url, name, email)
  const apiKey = (token: string) => apiKeyOf(url, token)
  const dashboard = await account('create', EMAILS.dashboard)
  const seller = await account('create', EMAILS.seller)
  // The simulated buyer's node offers too, so that there are orders whose seller is not an agent.
  await connectNode(market, seller.token, await buyerOf(market.product))
  const session = await buy(market.product)
  const order = await buyWith(market, dashboard.token)
  const keys = new Map<Caller, string>([
    ['stranger', 'psk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA00000000'],
    ['session', session.key],
    ['order', order.key],
    ['dashboard', dashboard.token],
    ['seller', seller.token],
    ['operator', market.operatorToken],
    ['api', (await apiKey(dashboard.token)).key],
  ])
  const renew = async (caller: Caller): Promise<number> => {
    if (caller !== 'dashboard' && caller !== 'seller' && caller !== 'api') return 0
    const email = EMAILS[caller === 'seller' ? 'seller' : 'dashboard']
    // Another shot may change the password into the same one meanwhile, which refuses a log-in that is under way.
    const { token } = await account('login', email).catch(() => account('login', email))
    keys.set(caller, caller === 'api' ? (await apiKey(token)).key : token)
    return caller === 'api' ? 2 : 1
  }
  const owners = await openOwners(market.product.dataDir)
  const own = owners.belongings.get(session.id)
  if (own?.what !== 'order') throw new Error('no fact tells of the order that was bought')
  const identities = new Map<Caller, Identity>([
    ['session', { account: own.buyer }],
    ['order', { account: dashboard.id, only: order.id }],
    ['dashboard', { account: dashboard.id }],
    ['api', { account: dashboard.id }],
    ['seller', { account: seller.id }],
  ])
  return {
    bought: { session, order },
    owners,
    renew,
    authorization: (caller) => (keys.has(caller) ? `Bearer ${keys.get(caller)}` : undefined),
    identityOf: (caller) => identities.get(caller),
  }
}

export const loginBy = (url: string, name: 'create' | 'login', email: string): Promise<Login> =>
  one<Login>(url, `mutation { account { ${name}(input: { email: "${email}", password: "${PASSWORD}" }) { id token } } }`)

export const apiKeyOf = (url: string, token: string | undefined): Promise<{ readonly id: string; readonly key: string }> =>
  one(url, 'mutation { account { create_api_key(input: { name: "bot" }) { id key } } }', token)

/** The one operation's result. @throws the refusal */
export async function one<T>(url: string, query: string, token?: string): Promise<T> {
  const { data, errors } = await graphql<unknown>(url, query, undefined, token)
  let found = data
  while (typeof found === 'object' && found !== null && Object.keys(found).length === 1)
    [found] = Object.values(found) as unknown[]
  if (errors || typeof found !== 'object' || found === null) throw new Error(`${query}: ${JSON.stringify(errors)}`)
  return found as T // the caller says what it asked for
}

/** What an account proves a node with. */
export async function proofOf({ product }: Market, token: string, { pubkey, alias }: Pick<SimNode, 'pubkey' | 'alias'>) {
  const { data } = await graphql<{ account: { node: { challenge: string } } }>(
    product.url,
    `mutation { account { node { challenge(pubkey: "${pubkey}") } } }`,
    {},
    token,
  )
  const challenge = data?.account.node.challenge ?? ''
  const { signature } = await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text: challenge })
  return { pubkey, challenge, signature }
}

export async function connectNode(market: Market, token: string, node: SimNode): Promise<void> {
  const { pubkey, challenge, signature } = await proofOf(market, token, node)
  const input = `{ pubkey: "${pubkey}", challenge: "${challenge}", signature: "${signature}" }`
  await one(market.product.url, `mutation { account { node { connect(input: ${input}) { id success } } } }`, token)
}

export async function buyWith({ product }: Market, token: string): Promise<Bought> {
  const { uri } = await buyerOf(product)
  const fields =
    'account { id session_key } order { transaction_id usd_cents } payment { lightning_invoice redirect_url amount { sats } }'
  const made = await one<{
    account: { session_key: string }
    order: { transaction_id: string }
    payment: { lightning_invoice: string; redirect_url: string; amount: { sats: string } }
  }>(product.url, `mutation { liquidity { buy(input: { connection_uri: "${uri}", usd_cents: "500" }) { ${fields} } } }`, token)
  const { payment } = made
  return {
    id: made.order.transaction_id,
    key: made.account.session_key,
    invoice: payment.lightning_invoice,
    page: payment.redirect_url,
    sats: payment.amount.sats,
  }
}
