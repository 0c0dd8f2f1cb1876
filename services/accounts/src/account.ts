import type { AccountFact } from '@penstock/contracts/accounts.ts'

/** 'session': an anonymous buyer. 'account': somebody with an e-mail address. One never becomes the other. 'deleted': was one. */
type Kind = 'none' | 'session' | 'account' | 'deleted'

export type Account = {
  readonly kind: Kind
  /** Hashes of session and order keys. */
  readonly keys: readonly string[]
  readonly apiKeys: Readonly<Record<string, { readonly active: boolean; readonly expiresAt: number | null }>>
  /** Hashes of dashboard tokens, and whether they still open anything. */
  readonly logins: Readonly<Record<string, 'open' | 'ended'>>
  readonly challenges: readonly { readonly pubkey: string; readonly challenge: string; readonly expiresAt: number }[]
  readonly usedLoginChallenges: readonly string[]
  readonly nodes: Readonly<Record<string, 'proven' | 'connected' | 'refused'>>
  readonly isOperator: boolean
  /** The record with the hash of today's password. */
  readonly passwordRecord: string | null
}

/** As it was hashed before passwords could be changed. */
export const withoutPassword = ({ passwordRecord: _, ...account }: Account): unknown => account

// Only so many are kept: old challenges have expired long before, and only the node's owner can use one up.
const CHALLENGES_KEPT = 20
const USED_CHALLENGES_KEPT = 100

export const nobody: Account = {
  kind: 'none',
  keys: [],
  apiKeys: {},
  logins: {},
  challenges: [],
  usedLoginChallenges: [],
  nodes: {},
  isOperator: false,
  passwordRecord: null,
}

export function evolve(account: Account, { type, data }: AccountFact): Account {
  switch (type) {
    case 'AccountCreated':
      return { ...account, kind: 'account', passwordRecord: data.passwordRecord }
    case 'SessionOpened':
      return { ...account, kind: 'session', keys: [...account.keys, data.keyHash] }
    case 'OrderKeyIssued':
      return { ...account, keys: [...account.keys, data.keyHash] }
    case 'LoginRecorded':
      return { ...account, logins: { ...account.logins, [data.tokenHash]: 'open' } }
    case 'LoggedOut':
      return { ...account, logins: { ...account.logins, [data.tokenHash]: 'ended' } }
    case 'PasswordChanged':
      return { ...account, passwordRecord: data.passwordRecord }
    case 'LoggedOutEverywhere':
      return {
        ...account,
        logins: ended(account.logins),
        apiKeys: data.apiKeys ? revoked(account.apiKeys) : account.apiKeys,
      }
    case 'LoginChallengeUsed':
      return { ...account, usedLoginChallenges: [...account.usedLoginChallenges, data.challenge].slice(-USED_CHALLENGES_KEPT) }
    case 'ApiKeyCreated':
      return { ...account, apiKeys: { ...account.apiKeys, [data.keyId]: { active: true, expiresAt: data.expiresAt } } }
    case 'ApiKeyRevoked':
      return { ...account, apiKeys: { ...account.apiKeys, [data.keyId]: { active: false, expiresAt: null } } }
    case 'NodeChallenged':
      return { ...account, challenges: [...account.challenges, data].slice(-CHALLENGES_KEPT) }
    case 'NodeProofGiven':
      return {
        ...withNode(account, data.pubkey, 'proven'),
        challenges: account.challenges.filter(({ challenge }) => challenge !== data.challenge),
      }
    case 'NodeConnected':
      return withNode(account, data.pubkey, 'connected')
    case 'NodeRefused':
      return withNode(account, data.pubkey, 'refused')
    case 'OperatorGranted':
      return { ...account, isOperator: true }
    case 'OperatorRevoked':
      return { ...account, isOperator: false }
    case 'AccountDeleted':
      // Its tokens and keys stay known as ended, so that none of them can be made again.
      return { ...nobody, kind: 'deleted', logins: ended(account.logins), apiKeys: revoked(account.apiKeys) }
  }
}

const ended = (logins: Account['logins']): Account['logins'] =>
  Object.fromEntries(Object.keys(logins).map((tokenHash) => [tokenHash, 'ended']))

const revoked = (apiKeys: Account['apiKeys']): Account['apiKeys'] =>
  Object.fromEntries(Object.keys(apiKeys).map((keyId) => [keyId, { active: false, expiresAt: null }]))

const withNode = (account: Account, pubkey: string, state: Account['nodes'][string]): Account => ({
  ...account,
  nodes: { ...account.nodes, [pubkey]: state },
})
