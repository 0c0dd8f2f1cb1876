import { recover } from '@penstock/bitcoin/message-signature.ts'
import type { AccountCommand, AccountFact } from '@penstock/contracts/accounts.ts'
import { accept, type Decider, type Decision, refuse, type Refusal } from '@penstock/kernel/decider.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { type Account, evolve, nobody } from './account.ts'

/** How long a node may take to sign what it was given. */
const CHALLENGE_MS = 10 * MINUTE_MS
const MOST_ACTIVE_KEYS = 100

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
type Decided = Decision<AccountFact, AccountRefusal>
type DataOf<Type extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: Type }>['data']

/** What was done already adds nothing. */
const unless = (done: boolean, fact: AccountFact): Decided => (done ? accept() : accept(fact))

function decide(account: Account, { type, at, data }: AccountCommand): Decided {
  // These come from orders, claims and those who leave; everything else is for somebody with an e-mail address.
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
      return create(account, data)
    case 'OpenSession':
      if (account.kind === 'deleted') return accept()
      // An order's account id is fresh or a session's own; the two kinds of callers never merge (marketplace, section 5).
      return unless(account.kind === 'account' || account.keys.includes(data.keyHash), { type: 'SessionOpened', v: 1, data })
    case 'IssueOrderKey':
      return unless(account.kind === 'deleted' || account.keys.includes(data.keyHash), { type: 'OrderKeyIssued', v: 1, data })
    case 'RecordLogin':
      return recordLogin(account, data)
    case 'ChangePassword':
      return changePassword(account, data)
    case 'LogOutEverywhere':
      return endsNothing(account, data) ? accept() : accept({ type: 'LoggedOutEverywhere', v: 1, data })
    case 'LoginByNode':
      return loginByNode(account, data, at)
    case 'LogOut':
      return unless(account.logins[data.tokenHash] !== 'open', { type: 'LoggedOut', v: 1, data })
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
      return unless(account.isOperator, { type: 'OperatorGranted', v: 1, data })
    case 'RevokeOperator':
      return unless(!account.isOperator, { type: 'OperatorRevoked', v: 1, data })
    case 'DeleteAccount':
      return deleteAccount(account, data)
  }
}

// A session that exists under this id stays what it is; the claim of the address chose a fresh one.
function create({ kind }: Account, { tokenHash, tokenExpiresAt, ...created }: DataOf<'CreateAccount'>): Decided {
  if (kind !== 'none') return accept()
  return accept(
    { type: 'AccountCreated', v: 1, data: created },
    { type: 'LoginRecorded', v: 1, data: { tokenHash, expiresAt: tokenExpiresAt } },
  )
}

const passwordChanged = refuse('PASSWORD_CHANGED', 'The password was changed meanwhile; log in with the new one.')

/** A log-in that was under way with an old password must not outlive the change. */
function recordLogin(account: Account, { passwordRecord, ...login }: DataOf<'RecordLogin'>): Decided {
  if (account.logins[login.tokenHash]) return accept()
  if (passwordRecord !== null && passwordRecord !== account.passwordRecord) return passwordChanged
  return accept({ type: 'LoginRecorded', v: 1, data: login })
}

function changePassword(account: Account, { passwordRecord, replaces, apiKeys }: DataOf<'ChangePassword'>): Decided {
  if (account.passwordRecord === passwordRecord) return accept()
  if (account.passwordRecord !== replaces) return passwordChanged
  return accept(
    { type: 'PasswordChanged', v: 1, data: { passwordRecord } },
    { type: 'LoggedOutEverywhere', v: 1, data: { apiKeys } },
  )
}

/** A deletion that was under way with an old password does not outlive the change of it. */
function deleteAccount({ kind, passwordRecord, nodes }: Account, data: DataOf<'DeleteAccount'>): Decided {
  if (kind === 'deleted') return accept()
  if (passwordRecord !== data.passwordRecord) return passwordChanged
  const held = Object.entries(nodes).flatMap(([pubkey, state]) => (state === 'refused' ? [] : [pubkey]))
  return accept({ type: 'AccountDeleted', v: 1, data: { emailHash: data.emailHash, nodes: held } })
}

const endsNothing = (account: Account, { apiKeys }: DataOf<'LogOutEverywhere'>): boolean =>
  Object.values(account.logins).every((state) => state === 'ended') &&
  (!apiKeys || Object.values(account.apiKeys).every(({ active }) => !active))

/** Every way in which a log-in fails reads the same, so that nothing can be learned from it. */
const loginRefused = refuse(
  'LOGIN_REFUSED',
  'The log-in is not valid; ask for a new challenge and sign it with the node of your account.',
)

function loginByNode(account: Account, data: DataOf<'LoginByNode'>, at: number): Decided {
  const { pubkey, challenge, challengeExpiresAt, signature, tokenHash, expiresAt } = data
  if (account.logins[tokenHash]) return accept()
  const isFresh = at < challengeExpiresAt && !account.usedLoginChallenges.includes(challenge)
  if (!isFresh || account.nodes[pubkey] !== 'connected' || recover(challenge, signature) !== pubkey) return loginRefused
  return accept(
    { type: 'LoginChallengeUsed', v: 1, data: { pubkey, challenge } },
    { type: 'LoginRecorded', v: 1, data: { tokenHash, expiresAt } },
  )
}

function createApiKey(account: Account, data: DataOf<'CreateApiKey'>, at: number): Decided {
  if (account.apiKeys[data.keyId]) return accept()
  if (data.expiresAt !== null && data.expiresAt <= at)
    return refuse('EXPIRY_PASSED', 'expires_at has passed; give a time to come, or none.')
  const active = Object.values(account.apiKeys).filter((key) => key.active && (key.expiresAt === null || key.expiresAt > at))
  if (active.length >= MOST_ACTIVE_KEYS)
    return refuse('TOO_MANY_KEYS', `An account has at most ${MOST_ACTIVE_KEYS} API keys; revoke one that you no longer use.`)
  return accept({ type: 'ApiKeyCreated', v: 1, data })
}

function revokeApiKey(account: Account, data: DataOf<'RevokeApiKey'>): Decided {
  const key = account.apiKeys[data.keyId]
  if (!key) return refuse('KEY_NOT_FOUND', 'API key not found')
  return unless(!key.active, { type: 'ApiKeyRevoked', v: 1, data })
}

function challengeNode(account: Account, { pubkey, challenge }: DataOf<'ChallengeNode'>, at: number): Decided {
  if (account.nodes[pubkey] === 'refused') return nodeTaken
  const isKnown = account.challenges.some((known) => known.challenge === challenge)
  return unless(isKnown, { type: 'NodeChallenged', v: 1, data: { pubkey, challenge, expiresAt: at + CHALLENGE_MS } })
}

const nodeTaken = refuse('NODE_TAKEN', 'This node is connected to another account.')

/** A wrong signature leaves the challenge as it is: its owner may still give the right one. */
function connectNode(account: Account, { pubkey, challenge, signature }: DataOf<'ConnectNode'>, at: number): Decided {
  const node = account.nodes[pubkey]
  if (node === 'refused') return nodeTaken
  if (node) return accept()
  const known = account.challenges.find((given) => given.challenge === challenge && given.pubkey === pubkey)
  if (!known)
    return refuse(
      'CHALLENGE_UNKNOWN',
      'This challenge is not for this account and node; ask for one with account.node.challenge.',
    )
  if (at >= known.expiresAt)
    return refuse('CHALLENGE_EXPIRED', 'The challenge has expired; ask for a new one and sign it within 10 minutes.')
  if (recover(challenge, signature) !== pubkey)
    return refuse('SIGNATURE_WRONG', "The signature is not the node's; sign exactly the challenge with its signmessage.")
  return accept({ type: 'NodeProofGiven', v: 1, data: { pubkey, challenge } })
}

function recordNodeClaim(account: Account, { pubkey, granted }: DataOf<'RecordNodeClaim'>): Decided {
  if (account.nodes[pubkey] !== 'proven') return accept()
  if (granted) return accept({ type: 'NodeConnected', v: 1, data: { pubkey } })
  return accept({ type: 'NodeRefused', v: 1, data: { pubkey, reason: nodeTaken.refused.message } })
}

export const accountDecider: Decider<Account, AccountCommand, AccountFact, AccountRefusal> = { initial: nobody, evolve, decide }
