import { buyChannel, type PurchasedOrder, findBuyer, sendGraphql, type SimulatedNode } from '../support/market-client.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import { createOwners, type Owners } from './checks/owners.ts'
import type { FuzzCaller } from './request.ts'
import type { CallerIdentity } from './checks/authorization.ts'

/** Credentials of every kind. `renewCredential` replaces a credential after a request ended it (a log-out, a revoked key). */
export type FuzzCallers = {
  readonly authorization: (caller: FuzzCaller) => string | undefined
  /** @returns the number of commands that the renewal caused */
  readonly renewCredential: (caller: FuzzCaller) => Promise<number>
  /** @returns undefined for a caller without an account */
  readonly identityOf: (caller: FuzzCaller) => CallerIdentity | undefined
  readonly owners: Owners
  readonly boughtOrders: { readonly session: PurchasedOrder; readonly order: PurchasedOrder }
}

/** Maximum number of log-ins in a row. Concurrent changes of the password explain some refusals, but not so many. */
const MAX_LOGINS = 5
export const FUZZ_PASSWORD = 'correct horse battery staple'
const EMAILS = { dashboard: 'buyer@example.org', seller: 'seller@example.org' }

type Login = { readonly id: string; readonly token: string }

export async function createCallers(market: FuzzMarket): Promise<FuzzCallers> {
  const { url } = market.product
  const requestAccount = (name: 'create' | 'login', email: string) => requestLogin(url, name, email)
  const createKey = (token: string) => requestApiKey(url, token)
  const dashboard = await requestAccount('create', EMAILS.dashboard)
  const seller = await requestAccount('create', EMAILS.seller)
  // The simulated buyer's node also gets an offer, so that some orders have a seller without an agent.
  await connectFuzzNode(market, seller.token, await findBuyer(market.product))
  const session = await buyChannel(market.product)
  const order = await buyAsAccount(market, dashboard.token)
  const tokens = new Map<FuzzCaller, string>([
    ['stranger', 'psk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA00000000'],
    ['session', session.key],
    ['order', order.key],
    ['dashboard', dashboard.token],
    ['seller', seller.token],
    ['operator', market.operatorToken],
    ['api', (await createKey(dashboard.token)).key],
  ])
  // A log-in fails if a concurrent request changes the password, even to the same value.
  const logIn = (email: string, tries = MAX_LOGINS): Promise<Login> =>
    requestAccount('login', email).catch((error: unknown) => {
      if (tries === 1) throw error
      return logIn(email, tries - 1)
    })
  const renewCredential = async (caller: FuzzCaller): Promise<number> => {
    if (caller !== 'dashboard' && caller !== 'seller' && caller !== 'api') return 0
    const email = EMAILS[caller === 'seller' ? 'seller' : 'dashboard']
    const { token } = await logIn(email)
    tokens.set(caller, caller === 'api' ? (await createKey(token)).key : token)
    return caller === 'api' ? 2 : 1
  }
  const owners = await createOwners(market.product.dataDir)
  const sessionOrder = owners.ownedObjects.get(session.id)
  if (sessionOrder?.kind !== 'order') throw new Error('no fact records the order that was bought')
  const identities = new Map<FuzzCaller, CallerIdentity>([
    ['session', { account: sessionOrder.buyer }],
    ['order', { account: dashboard.id, onlyOrder: order.id }],
    ['dashboard', { account: dashboard.id }],
    ['api', { account: dashboard.id }],
    ['seller', { account: seller.id }],
  ])
  return {
    boughtOrders: { session, order },
    owners,
    renewCredential,
    authorization: (caller) => (tokens.has(caller) ? `Bearer ${tokens.get(caller)}` : undefined),
    identityOf: (caller) => identities.get(caller),
  }
}

export const requestLogin = (url: string, name: 'create' | 'login', email: string): Promise<Login> =>
  runOperation<Login>(
    url,
    `mutation { account { ${name}(input: { email: "${email}", password: "${FUZZ_PASSWORD}" }) { id token } } }`,
  )

export const requestApiKey = (url: string, token: string | undefined): Promise<{ readonly id: string; readonly key: string }> =>
  runOperation(url, 'mutation { account { create_api_key(input: { name: "bot" }) { id key } } }', token)

/** Runs one operation. @returns its result @throws Error with the refusal */
export async function runOperation<T>(url: string, query: string, token?: string): Promise<T> {
  const { data, errors } = await sendGraphql<unknown>(url, query, undefined, token)
  let result = data
  while (typeof result === 'object' && result !== null && Object.keys(result).length === 1)
    [result] = Object.values(result) as unknown[]
  if (errors || typeof result !== 'object' || result === null) throw new Error(`${query}: ${JSON.stringify(errors)}`)
  return result as T // the caller gives the right type
}

/** Signs a challenge with a simulated node, as the proof that an account owns it. */
export async function createNodeProof(
  { product }: FuzzMarket,
  token: string,
  { pubkey, alias }: Pick<SimulatedNode, 'pubkey' | 'alias'>,
) {
  const { data } = await sendGraphql<{ account: { node: { challenge: string } } }>(
    product.url,
    `mutation { account { node { challenge(pubkey: "${pubkey}") } } }`,
    {},
    token,
  )
  const challenge = data?.account.node.challenge ?? ''
  const { signature } = await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text: challenge })
  return { pubkey, challenge, signature }
}

export async function connectFuzzNode(market: FuzzMarket, token: string, node: SimulatedNode): Promise<void> {
  const { pubkey, challenge, signature } = await createNodeProof(market, token, node)
  const input = `{ pubkey: "${pubkey}", challenge: "${challenge}", signature: "${signature}" }`
  await runOperation(market.product.url, `mutation { account { node { connect(input: ${input}) { id success } } } }`, token)
}

export async function buyAsAccount({ product }: FuzzMarket, token: string): Promise<PurchasedOrder> {
  const { uri } = await findBuyer(product)
  const fields =
    'account { id session_key } order { transaction_id usd_cents } payment { lightning_invoice redirect_url amount { sats } }'
  const result = await runOperation<{
    account: { session_key: string }
    order: { transaction_id: string }
    payment: { lightning_invoice: string; redirect_url: string; amount: { sats: string } }
  }>(product.url, `mutation { liquidity { buy(input: { connection_uri: "${uri}", usd_cents: "500" }) { ${fields} } } }`, token)
  const { payment } = result
  return {
    id: result.order.transaction_id,
    key: result.account.session_key,
    invoice: payment.lightning_invoice,
    page: payment.redirect_url,
    sats: payment.amount.sats,
  }
}
