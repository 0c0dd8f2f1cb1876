import type { Belonging, Owners } from './owners.ts'
import type { Caller, Shot } from './shot.ts'

/** Whose a caller's credential is. `only`: the one order that it opens. */
export type Identity = { readonly account: string; readonly only?: string }

/** For whoever shows no credential. Everything else is somebody's. */
const OPEN = /^(?:query market\..*|mutation liquidity\.buy|mutation account\.(?:create|login|login_challenge))$/
/** No document of LSPS1 knows a credential, so a wrong one is not looked at. */
const UNASKED = /^POST \/api\/lsp\/v1\//
const ORDER =
  /^(?:query user\.market\.orders\.get_order|query user\.transactions\.transaction_list|mutation market\.order\.cancel)$/
const BUYER = /^(?:query account\.me|mutation market\.order\.create)$/
/** What a program must not do in a person's name. */
const PERSON =
  /^(?:query account\.(?:api_keys|sessions)|mutation account\.(?:logout|log_out_everywhere|change_password|delete|create_api_key|revoke_api_key))$/

const isOpen = (target: string): boolean => OPEN.test(target)

/** Of operations, what each kind of credential opens: the operator's token is none here, as little as one that nobody has. */
const RIGHTS: Readonly<Record<Caller, (target: string) => boolean>> = {
  nobody: isOpen,
  stranger: () => false,
  operator: () => false,
  session: (target) => isOpen(target) || ORDER.test(target) || BUYER.test(target),
  order: (target) => (isOpen(target) && target !== 'mutation liquidity.buy') || ORDER.test(target),
  api: (target) => !PERSON.test(target),
  dashboard: () => true,
  seller: () => true,
}

/** @param target an operation, or a method and its address */
export function mayDo(target: string, caller: Caller): boolean {
  if (/^(?:query|mutation) /.test(target)) return RIGHTS[caller](target)
  return UNASKED.test(target) || caller === 'operator'
}

/**
 * An answer that shows something as carried out explains the facts that follow, so who asked has to be looked at first.
 * @param target what was hit @param shown how many results the answer shows
 * @returns what is wrong where that was nothing for this kind of caller
 */
export const trespass = (target: string, { caller }: Pick<Shot, 'caller'>, shown: number): string | undefined =>
  shown === 0 || mayDo(target, caller) ? undefined : `${target} was carried out for ${caller}`

type Asked = {
  readonly target: string
  /** Undefined for whoever shows no credential. */
  readonly identity: Identity | undefined
  /** When it was asked for, in milliseconds since 1970. */
  readonly since: number
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const PUBKEY = /\b0[23][0-9a-f]{64}\b/g

/** @returns what is wrong where the data of a GraphQL answer shows something of others. What was done is named in it too. */
export function shownOfOthers(data: unknown, asked: Asked, owners: Owners): string | undefined {
  const text = JSON.stringify(data) ?? ''
  const others = (text.match(UUID) ?? []).flatMap((id) => {
    const belonging = owners.belongings.get(id)
    return belonging && !isFor(id, belonging, asked, owners) ? [`the ${belonging.what} ${id}`] : []
  })
  const nodes = OF_OWN_NODES.test(asked.target) ? (text.match(PUBKEY) ?? []) : []
  const foreign = nodes.filter((pubkey) => owners.nodes.get(pubkey) !== asked.identity?.account)
  const roles = wrongRoles(data, asked.identity?.account, owners.belongings)
  const [first] = [...others, ...foreign.map((pubkey) => `the node ${pubkey}`), ...roles]
  return first === undefined ? undefined : `${asked.target} shows ${first} to somebody else`
}

/** Not the buyer's, whose order it is. */
const SELLING = /^mutation market\.order\.seller\./
const LOGIN = /^mutation account\.(?:create|login)$/
const OF_OWN_NODES = /^(?:query account\.me|mutation account\.node\.connect|mutation market\.offer\.attest)$/

function isFor(id: string, belonging: Belonging, { target, identity, since }: Asked, { nodes }: Owners): boolean {
  if (belonging.what === 'account' && LOGIN.test(target)) return true // its password was given
  if (belonging.what === 'offer' && target.startsWith('query market.')) return true
  // A stranger is shown what has come to be by this very request.
  if (!identity) return (belonging.what === 'order' || belonging.what === 'account') && belonging.at >= since
  if (identity.only !== undefined) return id === identity.only
  switch (belonging.what) {
    case 'account':
      return id === identity.account
    case 'order':
      return belonging.sellers.has(identity.account) || (belonging.buyer === identity.account && !SELLING.test(target))
    case 'offer':
      return belonging.owner === identity.account && nodes.get(belonging.pubkey) === identity.account
    case 'API key':
      return belonging.owner === identity.account
  }
}

/** Whoever buys sees an order from another side than whoever sells it; and each order that is shown has to be one. */
function wrongRoles(data: unknown, account: string | undefined, belongings: Owners['belongings']): readonly string[] {
  if (typeof data !== 'object' || data === null) return []
  const inner = Object.values(data).flatMap((value) => wrongRoles(value, account, belongings))
  const { id, is_seller: isSeller } = data as { readonly id?: unknown; readonly is_seller?: unknown } // of any object
  if (typeof id !== 'string' || typeof isSeller !== 'boolean') return inner
  const order = belongings.get(id)
  if (order?.what !== 'order') return [`an order ${id} that was never placed`, ...inner]
  const isRight = account !== undefined && (isSeller ? order.sellers.has(account) : order.buyer === account)
  return isRight ? inner : [`the order ${id}, as its ${isSeller ? 'seller' : 'buyer'},`, ...inner]
}

/** @returns what is wrong where an answer to whoever comes names what is somebody's; LSPS1 tells of its own orders alone */
export function shownToAll(path: string, text: string, { belongings }: Owners): string | undefined {
  const [, type] = /^\/api\/lsp\/v1\/(\w+)\//i.exec(path) ?? []
  const wrong = (text.match(UUID) ?? []).find((id) => {
    const belonging = belongings.get(id)
    return belonging && !(belonging.what === 'order' && belonging.source === `lsps1-${type?.toLowerCase()}`)
  })
  return wrong === undefined ? undefined : `it shows the ${belongings.get(wrong)?.what} ${wrong} to whoever asks`
}
