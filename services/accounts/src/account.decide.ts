import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import type { AccountCommand, AccountFact } from '@penstock/contracts/accounts.ts'
import { accept, type Decider, type Decision, refuse, type Refusal } from '@penstock/kernel/decider.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { type Account, evolve, noAccount } from './account.ts'

/** Time within which a node has to sign its challenge. */
const CHALLENGE_MS = 10 * MINUTE_MS
const MAX_ACTIVE_KEYS = 100

type AccountRefusal = Refusal<
  | 'NOT_AN_ACCOUNT'
  | 'LOGIN_REFUSED'
  | 'PASSWORD_CHANGED'
  | 'EXPIRY_PASSED'
  | 'TOO_MANY_KEYS'
  | 'KEY_NOT_FOUND'
  | 'CHALLENGE_UNKNOWN'
  | 'CHALLENGE_EXPIRED'
  | 'SIGNATURE_WRONG'
  | 'NODE_TAKEN'
>
type AccountDecision = Decision<AccountFact, AccountRefusal>
type CommandData<Type extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: Type }>['data']

/** Adds no fact if an earlier command has already made this change. */
const acceptUnless = (isDone: boolean, fact: AccountFact): AccountDecision => (isDone ? accept() : accept(fact))

function decide(account: Account, { type, at, data }: AccountCommand): AccountDecision {
  // These commands may reach a stream of any kind. All other commands need an account with an e-mail address.
  const isForAll =
    (type === 'DeleteAccount' && account.kind === 'deleted') ||
    type === 'CreateAccount' ||
    type === 'OpenSession' ||
    type === 'IssueOrderKey' ||
    type === 'LogOut' ||
    type === 'RecordNodeClaim'
  if (!isForAll && account.kind !== 'account')
    return refuse('NOT_AN_ACCOUNT', 'Only an account with an e-mail address can do this; make one with account.create.')
  switch (type) {
    case 'CreateAccount':
      return createAccount(account, data)
    case 'OpenSession':
      if (account.kind === 'deleted') return accept()
      // An order contains a new account id or the id of a session, because sessions and accounts never merge.
      return acceptUnless(account.kind === 'account' || account.keys.includes(data.keyHash), {
        type: 'SessionOpened',
        v: 1,
        data,
      })
    case 'IssueOrderKey':
      return acceptUnless(account.kind === 'deleted' || account.keys.includes(data.keyHash), {
        type: 'OrderKeyIssued',
        v: 1,
        data,
      })
    case 'RecordLogin':
      return recordLogin(account, data)
    case 'ChangePassword':
      return changePassword(account, data)
    case 'LogOutEverywhere':
      return hasNothingToEnd(account, data) ? accept() : accept({ type: 'LoggedOutEverywhere', v: 1, data })
    case 'LoginByNode':
      return loginByNode(account, data, at)
    case 'LogOut':
      return acceptUnless(account.logins[data.tokenHash] !== 'open', { type: 'LoggedOut', v: 1, data })
    case 'CreateApiKey':
      return createApiKey(account, data, at)
    case 'RevokeApiKey':
      return revokeApiKey(account, data)
    case 'ChallengeNode':
      return challengeNode(account, data, at)
    case 'ConnectNode':
      return connectNode(account, data, at)
    case 'RecordNodeClaim':
      return recordNodeClaim(account, data)
    case 'GrantOperator':
      return acceptUnless(account.isOperator, { type: 'OperatorGranted', v: 1, data })
    case 'RevokeOperator':
      return acceptUnless(!account.isOperator, { type: 'OperatorRevoked', v: 1, data })
    case 'DeleteAccount':
      return deleteAccount(account, data)
  }
}

// The claim of an e-mail address uses a new account id, so a stream that already exists needs no change.
function createAccount(
  { kind }: Account,
  { tokenHash, tokenExpiresAt, ...created }: CommandData<'CreateAccount'>,
): AccountDecision {
  if (kind !== 'none') return accept()
  return accept(
    { type: 'AccountCreated', v: 1, data: created },
    { type: 'LoginRecorded', v: 1, data: { tokenHash, expiresAt: tokenExpiresAt } },
  )
}

const passwordChangedRefusal = refuse('PASSWORD_CHANGED', 'The password was changed meanwhile; log in with the new one.')

/** Refuses a log-in that was compared with an older password. */
function recordLogin(account: Account, { passwordRecord, ...login }: CommandData<'RecordLogin'>): AccountDecision {
  if (account.logins[login.tokenHash]) return accept()
  if (passwordRecord !== null && passwordRecord !== account.passwordRecord) return passwordChangedRefusal
  return accept({ type: 'LoginRecorded', v: 1, data: login })
}

function changePassword(account: Account, { passwordRecord, replaces, apiKeys }: CommandData<'ChangePassword'>): AccountDecision {
  if (account.passwordRecord === passwordRecord) return accept()
  if (account.passwordRecord !== replaces) return passwordChangedRefusal
  return accept(
    { type: 'PasswordChanged', v: 1, data: { passwordRecord } },
    { type: 'LoggedOutEverywhere', v: 1, data: { apiKeys } },
  )
}

/** Refuses a deletion that was compared with an older password. */
function deleteAccount({ kind, passwordRecord, nodes }: Account, data: CommandData<'DeleteAccount'>): AccountDecision {
  if (kind === 'deleted') return accept()
  if (passwordRecord !== data.passwordRecord) return passwordChangedRefusal
  const heldNodes = Object.entries(nodes).flatMap(([pubkey, state]) => (state === 'refused' ? [] : [pubkey]))
  return accept({ type: 'AccountDeleted', v: 1, data: { emailHash: data.emailHash, nodes: heldNodes } })
}

const hasNothingToEnd = (account: Account, { apiKeys }: CommandData<'LogOutEverywhere'>): boolean =>
  Object.values(account.logins).every((state) => state === 'ended') &&
  (!apiKeys || Object.values(account.apiKeys).every(({ active }) => !active))

/** All failures of a log-in by node have one message, so that it does not reveal which check failed. */
const loginRefusal = refuse(
  'LOGIN_REFUSED',
  'The log-in is not valid; ask for a new challenge and sign it with the node of your account.',
)

function loginByNode(account: Account, data: CommandData<'LoginByNode'>, at: number): AccountDecision {
  const { pubkey, challenge, challengeExpiresAt, signature, tokenHash, expiresAt } = data
  if (account.logins[tokenHash]) return accept()
  const isFresh = at < challengeExpiresAt && !account.usedLoginChallenges.includes(challenge)
  if (!isFresh || account.nodes[pubkey] !== 'connected' || recoverPubkey(challenge, signature) !== pubkey) return loginRefusal
  return accept(
    { type: 'LoginChallengeUsed', v: 1, data: { pubkey, challenge } },
    { type: 'LoginRecorded', v: 1, data: { tokenHash, expiresAt } },
  )
}

function createApiKey(account: Account, data: CommandData<'CreateApiKey'>, at: number): AccountDecision {
  if (account.apiKeys[data.keyId]) return accept()
  if (data.expiresAt !== null && data.expiresAt <= at)
    return refuse('EXPIRY_PASSED', 'expires_at has passed; give a future time, or none.')
  const active = Object.values(account.apiKeys).filter((key) => key.active && (key.expiresAt === null || key.expiresAt > at))
  if (active.length >= MAX_ACTIVE_KEYS)
    return refuse('TOO_MANY_KEYS', `An account has at most ${MAX_ACTIVE_KEYS} API keys; revoke one that you no longer use.`)
  return accept({ type: 'ApiKeyCreated', v: 1, data })
}

function revokeApiKey(account: Account, data: CommandData<'RevokeApiKey'>): AccountDecision {
  const key = account.apiKeys[data.keyId]
  if (!key) return refuse('KEY_NOT_FOUND', 'API key not found')
  return acceptUnless(!key.active, { type: 'ApiKeyRevoked', v: 1, data })
}

function challengeNode(account: Account, { pubkey, challenge }: CommandData<'ChallengeNode'>, at: number): AccountDecision {
  if (account.nodes[pubkey] === 'refused') return nodeTakenRefusal
  const isKnown = account.challenges.some((known) => known.challenge === challenge)
  return acceptUnless(isKnown, { type: 'NodeChallenged', v: 1, data: { pubkey, challenge, expiresAt: at + CHALLENGE_MS } })
}

const nodeTakenRefusal = refuse('NODE_TAKEN', 'This node is connected to another account.')

/** A wrong signature does not use up the challenge, so that the node's owner can still send the right signature. */
function connectNode(
  account: Account,
  { pubkey, challenge, signature }: CommandData<'ConnectNode'>,
  at: number,
): AccountDecision {
  const node = account.nodes[pubkey]
  if (node === 'refused') return nodeTakenRefusal
  if (node) return accept()
  const known = account.challenges.find((given) => given.challenge === challenge && given.pubkey === pubkey)
  if (!known)
    return refuse(
      'CHALLENGE_UNKNOWN',
      'This challenge is not for this account and node; ask for one with account.node.challenge.',
    )
  if (at >= known.expiresAt)
    return refuse('CHALLENGE_EXPIRED', 'The challenge has expired; ask for a new one and sign it within 10 minutes.')
  if (recoverPubkey(challenge, signature) !== pubkey)
    return refuse('SIGNATURE_WRONG', "The signature is not the node's; sign exactly the challenge with its signmessage.")
  return accept({ type: 'NodeProofGiven', v: 1, data: { pubkey, challenge } })
}

function recordNodeClaim(account: Account, { pubkey, granted }: CommandData<'RecordNodeClaim'>): AccountDecision {
  if (account.nodes[pubkey] !== 'proven') return accept()
  if (granted) return accept({ type: 'NodeConnected', v: 1, data: { pubkey } })
  return accept({ type: 'NodeRefused', v: 1, data: { pubkey, reason: nodeTakenRefusal.refused.message } })
}

export const accountDecider: Decider<Account, AccountCommand, AccountFact, AccountRefusal> = {
  initial: noAccount,
  evolve,
  decide,
}
