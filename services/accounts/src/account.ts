import type { AccountFact } from '@penstock/contracts/accounts.ts'

/** 'session': an anonymous buyer, which never becomes an account. 'account': has an e-mail address. 'deleted': was an account. */
type AccountKind = 'none' | 'session' | 'account' | 'deleted'

export type Account = {
  readonly kind: AccountKind
  /** Hashes of session and order keys. */
  readonly keys: readonly string[]
  readonly apiKeys: Readonly<Record<string, { readonly active: boolean; readonly expiresAt: number | null }>>
  /** Hashes of dashboard tokens, and whether each token is still valid. */
  readonly logins: Readonly<Record<string, 'open' | 'ended'>>
  readonly challenges: readonly { readonly pubkey: string; readonly challenge: string; readonly expiresAt: number }[]
  readonly usedLoginChallenges: readonly string[]
  readonly nodes: Readonly<Record<string, 'proven' | 'connected' | 'refused'>>
  readonly isOperator: boolean
  /** Id of the record with the hash of the present password. */
  readonly passwordRecord: string | null
}

/** The part of the state that version 1 of the state hash covers: without `passwordRecord`. */
export const withoutPassword = ({ passwordRecord: _, ...account }: Account): unknown => account

// The state keeps only the latest challenges. An older challenge is lost without harm, because its node can get a new one.
const MAX_CHALLENGES = 20
const MAX_USED_CHALLENGES = 100

export const noAccount: Account = {
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
        logins: endLogins(account.logins),
        apiKeys: data.apiKeys ? revokeApiKeys(account.apiKeys) : account.apiKeys,
      }
    case 'LoginChallengeUsed':
      return { ...account, usedLoginChallenges: [...account.usedLoginChallenges, data.challenge].slice(-MAX_USED_CHALLENGES) }
    case 'ApiKeyCreated':
      return { ...account, apiKeys: { ...account.apiKeys, [data.keyId]: { active: true, expiresAt: data.expiresAt } } }
    case 'ApiKeyRevoked':
      return { ...account, apiKeys: { ...account.apiKeys, [data.keyId]: { active: false, expiresAt: null } } }
    case 'NodeChallenged':
      return { ...account, challenges: [...account.challenges, data].slice(-MAX_CHALLENGES) }
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
      // Tokens and API keys stay in the state as ended, so that no command can create them again.
      return { ...noAccount, kind: 'deleted', logins: endLogins(account.logins), apiKeys: revokeApiKeys(account.apiKeys) }
  }
}

const endLogins = (logins: Account['logins']): Account['logins'] =>
  Object.fromEntries(Object.keys(logins).map((tokenHash) => [tokenHash, 'ended']))

const revokeApiKeys = (apiKeys: Account['apiKeys']): Account['apiKeys'] =>
  Object.fromEntries(Object.keys(apiKeys).map((keyId) => [keyId, { active: false, expiresAt: null }]))

const withNode = (account: Account, pubkey: string, state: Account['nodes'][string]): Account => ({
  ...account,
  nodes: { ...account.nodes, [pubkey]: state },
})
