import type { OwnedObject, Owners } from './owners.ts'
import type { FuzzCaller, FuzzRequest } from '../request.ts'

/** The account of a caller's credential. `onlyOrder` is the only order that the credential gives access to. */
export type CallerIdentity = { readonly account: string; readonly onlyOrder?: string }

// These lists check the access of the use cases independently, so they are written by hand and import nothing of the gateway.

/** Operations for callers without a credential. All other operations need a credential. */
const PUBLIC_OPERATIONS = /^(?:query market\..*|mutation liquidity\.buy|mutation account\.(?:create|login|login_challenge))$/
/** LSPS1 has no credentials, so the market ignores a wrong credential here. */
const UNAUTHENTICATED_ROUTES = /^POST \/api\/lsp\/v1\//
const ORDER_OPERATIONS =
  /^(?:query user\.market\.orders\.get_order|query user\.transactions\.transaction_list|mutation market\.order\.cancel)$/
const BUYER_OPERATIONS = /^(?:query account\.me|mutation market\.order\.create)$/
/** Operations that need a log-in with a password, and that refuse an API key. */
const PERSON_OPERATIONS =
  /^(?:query account\.(?:api_keys|sessions)|mutation account\.(?:logout|log_out_everywhere|change_password|delete|create_api_key|revoke_api_key))$/

const isPublic = (target: string): boolean => PUBLIC_OPERATIONS.test(target)

/** The GraphQL operations that each kind of credential allows. The operator's token allows none, like an unknown token. */
const RIGHTS: Readonly<Record<FuzzCaller, (target: string) => boolean>> = {
  nobody: isPublic,
  stranger: () => false,
  operator: () => false,
  session: (target) => isPublic(target) || ORDER_OPERATIONS.test(target) || BUYER_OPERATIONS.test(target),
  order: (target) => (isPublic(target) && target !== 'mutation liquidity.buy') || ORDER_OPERATIONS.test(target),
  api: (target) => !PERSON_OPERATIONS.test(target),
  dashboard: () => true,
  seller: () => true,
}

/** Returns whether a caller may use a target. @param target an operation, or a method and its address */
export function mayUseTarget(target: string, caller: FuzzCaller): boolean {
  if (/^(?:query|mutation) /.test(target)) return RIGHTS[caller](target)
  return UNAUTHENTICATED_ROUTES.test(target) || caller === 'operator'
}

/**
 * Checks that this kind of caller may get results. The check runs first, because results in an answer explain new facts.
 * @param target the name of the target
 * @param resultCount the number of results in the answer
 * @returns a violation, or undefined
 */
export const checkPermission = (
  target: string,
  { caller }: Pick<FuzzRequest, 'caller'>,
  resultCount: number,
): string | undefined =>
  resultCount === 0 || mayUseTarget(target, caller) ? undefined : `${target} was carried out for ${caller}`

type RequestContext = {
  readonly target: string
  /** Undefined for a caller without a credential. */
  readonly identity: CallerIdentity | undefined
  /** Time of the request, in milliseconds since 1970. */
  readonly requestedAt: number
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const PUBKEY = /\b0[23][0-9a-f]{64}\b/g

/** Checks that the data of a GraphQL answer contains nothing of other accounts. @returns a violation, or undefined */
export function checkForeignData(data: unknown, context: RequestContext, owners: Owners): string | undefined {
  const text = JSON.stringify(data) ?? ''
  const others = (text.match(UUID) ?? []).flatMap((id) => {
    const belonging = owners.ownedObjects.get(id)
    return belonging && !isVisibleTo(id, belonging, context, owners) ? [`the ${belonging.kind} ${id}`] : []
  })
  const nodes = OWN_NODE_OPERATIONS.test(context.target) ? (text.match(PUBKEY) ?? []) : []
  const foreign = nodes.filter((pubkey) => owners.nodes.get(pubkey) !== context.identity?.account)
  const roles = findWrongRoles(data, context.identity?.account, owners.ownedObjects)
  const [first] = [...others, ...foreign.map((pubkey) => `the node ${pubkey}`), ...roles]
  return first === undefined ? undefined : `${context.target} shows ${first} to another caller`
}

/** Operations that may show offers of other accounts: offers are public, and an order shows its offer. */
const OFFER_OPERATIONS = /^(?:query market\.|query user\.market\.orders\.get_order$|mutation market\.order\.create$)/

/** Operations that only sellers may use, and not the order's buyer. */
const SELLER_OPERATIONS = /^mutation market\.order\.seller\./
const LOGIN_OPERATIONS = /^mutation account\.(?:create|login)$/
const OWN_NODE_OPERATIONS = /^(?:query account\.me|mutation account\.node\.connect|mutation market\.offer\.attest)$/

function isVisibleTo(
  id: string,
  belonging: OwnedObject,
  { target, identity, requestedAt }: RequestContext,
  { nodes }: Owners,
): boolean {
  if (belonging.kind === 'account' && LOGIN_OPERATIONS.test(target)) return true // the request contained its password
  if (belonging.kind === 'offer' && OFFER_OPERATIONS.test(target)) return true
  // A caller without a credential sees only what its own request created.
  if (!identity) return (belonging.kind === 'order' || belonging.kind === 'account') && belonging.at >= requestedAt
  if (identity.onlyOrder !== undefined) return id === identity.onlyOrder
  switch (belonging.kind) {
    case 'account':
      return id === identity.account
    case 'order':
      return belonging.sellers.has(identity.account) || (belonging.buyer === identity.account && !SELLER_OPERATIONS.test(target))
    case 'offer':
      return belonging.owner === identity.account && nodes.get(belonging.pubkey) === identity.account
    case 'API key':
      return belonging.owner === identity.account
  }
}

/** Checks that each order in the data exists, and is shown in the caller's own role, buyer or seller. */
function findWrongRoles(data: unknown, account: string | undefined, belongings: Owners['ownedObjects']): readonly string[] {
  if (typeof data !== 'object' || data === null) return []
  const inner = Object.values(data).flatMap((value) => findWrongRoles(value, account, belongings))
  const { id, is_seller: isSeller } = data as { readonly id?: unknown; readonly is_seller?: unknown } // any object may have these
  if (typeof id !== 'string' || typeof isSeller !== 'boolean') return inner
  const order = belongings.get(id)
  if (order?.kind !== 'order') return [`an order ${id} that was never placed`, ...inner]
  const isCorrect = account !== undefined && (isSeller ? order.sellers.has(account) : order.buyer === account)
  return isCorrect ? inner : [`the order ${id}, as its ${isSeller ? 'seller' : 'buyer'},`, ...inner]
}

/** Checks a public answer: only LSPS1 may show orders, and only LSPS1 orders. @returns a violation, or undefined */
export function checkPublicData(path: string, text: string, { ownedObjects: belongings }: Owners): string | undefined {
  const [, type] = /^\/+api\/+lsp\/+v1\/+(\w+)\//i.exec(path) ?? []
  const foreignId = (text.match(UUID) ?? []).find((id) => {
    const belonging = belongings.get(id)
    return belonging && !(belonging.kind === 'order' && belonging.source === `lsps1-${type?.toLowerCase()}`)
  })
  return foreignId === undefined ? undefined : `it shows the ${belongings.get(foreignId)?.kind} ${foreignId} to any caller`
}
