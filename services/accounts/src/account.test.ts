import { recoverPubkey, signMessage } from '@penstock/bitcoin/message-signature.ts'
import type { AccountCommand, AccountFact } from '@penstock/contracts/accounts.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accountDecider } from './account.decide.ts'
import { accountProcess } from './account.process.ts'

const hash = (digit: string) => digit.repeat(64)
const id = (n: number) => `01890000-0000-7000-8000-00000000000${n}`
const fact = <T extends AccountFact['type']>(type: T, data: Extract<AccountFact, { type: T }>['data']) =>
  ({ type, v: 1, data }) as AccountFact
const commandBody = <T extends AccountCommand['type']>(type: T, data: Extract<AccountCommand, { type: T }>['data']) => ({
  type,
  data,
})

const secret = new Uint8Array(32).fill(9)
const pubkey = recoverPubkey('any text', signMessage(secret, 'any text')) ?? ''
const challenge = `penstock node challenge 1 ${pubkey} 0011`
const MINUTES_10 = 600_000

const record = { emailHash: hash('e'), emailRecord: id(1), passwordRecord: id(2) }
const created = fact('AccountCreated', record)
const session = fact('SessionOpened', { keyHash: hash('a'), orderId: id(3) })
const loggedIn = fact('LoginRecorded', { tokenHash: hash('b'), expiresAt: 5000 })
const challenged = fact('NodeChallenged', { pubkey, challenge, expiresAt: MINUTES_10 })
const proven = fact('NodeProofGiven', { pubkey, challenge })
const connected = fact('NodeConnected', { pubkey })
const taken = fact('NodeRefused', { pubkey, reason: 'This node is connected to another account.' })
const connect = (signature = signMessage(secret, challenge), text = challenge) =>
  commandBody('ConnectNode', { pubkey, challenge: text, signature })

test('an account is created once, with its first log-in', () => {
  const create = commandBody('CreateAccount', { ...record, tokenHash: hash('b'), tokenExpiresAt: 5000 })
  given(accountDecider).when(create).then(created, loggedIn)
  given(accountDecider, created, loggedIn).when(create).then()
})

describe('keys that come with orders', () => {
  const key = { keyHash: hash('a'), orderId: id(3) }
  test('the first order opens a session, and later commands do not change its kind', () => {
    given(accountDecider).when(commandBody('OpenSession', key)).then(session)
    given(accountDecider, session)
      .when(commandBody('OpenSession', { ...key, orderId: id(4) }))
      .then()
    given(accountDecider, created).when(commandBody('OpenSession', key)).then()
    given(accountDecider, session)
      .when(commandBody('CreateAccount', { ...record, tokenHash: hash('b'), tokenExpiresAt: 1 }))
      .then()
  })
  test('an order key is issued once', () => {
    given(accountDecider, created).when(commandBody('IssueOrderKey', key)).then(fact('OrderKeyIssued', key))
    given(accountDecider, created, fact('OrderKeyIssued', key)).when(commandBody('IssueOrderKey', key)).then()
  })
})

test('a session or an unknown caller cannot use the commands of an account', () => {
  const commands = [
    commandBody('RecordLogin', { tokenHash: hash('b'), expiresAt: 1, passwordRecord: null }),
    commandBody('ChangePassword', { passwordRecord: id(7), replaces: id(2), apiKeys: false }),
    commandBody('LogOutEverywhere', { apiKeys: true }),
    commandBody('CreateApiKey', {
      keyId: id(5),
      keyHash: hash('c'),
      prefix: 'pak_abcd',
      suffix: 'wxyz',
      nameRecord: null,
      expiresAt: null,
    }),
    commandBody('RevokeApiKey', { keyId: id(5) }),
    commandBody('ChallengeNode', { pubkey, challenge }),
    connect(),
    commandBody('GrantOperator', { by: 'console', reason: 'first operator' }),
  ]
  for (const command of commands)
    for (const history of [[], [session]])
      given(accountDecider, ...history)
        .when(command)
        .refuses('NOT_AN_ACCOUNT')
})

describe('log-ins', () => {
  test('are recorded once and ended once', () => {
    const login = commandBody('RecordLogin', { tokenHash: hash('b'), expiresAt: 5000, passwordRecord: id(2) })
    const out = commandBody('LogOut', { tokenHash: hash('b') })
    const ended = fact('LoggedOut', { tokenHash: hash('b') })
    given(accountDecider, created).when(login).then(loggedIn)
    given(accountDecider, created, loggedIn).when(login).then()
    given(accountDecider, created, loggedIn).when(out).then(ended)
    given(accountDecider, created, loggedIn, ended).when(out).then()
    given(accountDecider, created, loggedIn, ended).when(login).then()
    given(accountDecider, created).when(out).then()
  })
  test('by node need the signature of that node over a valid, unused challenge', () => {
    const text = `penstock log-in 1 ${pubkey} 900 00 seal`
    const login = (more: object = {}) => ({
      type: 'LoginByNode' as const,
      data: {
        pubkey,
        challenge: text,
        challengeExpiresAt: 900,
        signature: signMessage(secret, text),
        tokenHash: hash('d'),
        expiresAt: 5000,
        ...more,
      },
    })
    const used = fact('LoginChallengeUsed', { pubkey, challenge: text })
    const byNode = fact('LoginRecorded', { tokenHash: hash('d'), expiresAt: 5000 })
    const owner = [created, challenged, proven, connected]
    given(accountDecider, ...owner)
      .when(login(), 899)
      .then(used, byNode)
    given(accountDecider, ...owner, used, byNode)
      .when(login(), 899)
      .then()
    given(accountDecider, ...owner, used, byNode)
      .when(login({ tokenHash: hash('f') }), 899)
      .refuses('LOGIN_REFUSED')
    given(accountDecider, ...owner)
      .when(login(), 900)
      .refuses('LOGIN_REFUSED')
    given(accountDecider, ...owner)
      .when(login({ signature: signMessage(secret, 'another text') }), 1)
      .refuses('LOGIN_REFUSED')
    given(accountDecider, created, challenged, proven).when(login(), 1).refuses('LOGIN_REFUSED')
  })
})

describe('deletion', () => {
  const end = commandBody('DeleteAccount', { emailHash: hash('e'), passwordRecord: id(2) })
  const gone = fact('AccountDeleted', { emailHash: hash('e'), nodes: [pubkey] })
  const owner = [created, loggedIn, challenged, proven, connected]
  test('records the address and the nodes that become free, once', () => {
    given(accountDecider, ...owner)
      .when(end)
      .then(gone)
    given(accountDecider, created, challenged, proven).when(end).then(gone)
    given(accountDecider, created, challenged, proven, taken)
      .when(end)
      .then(fact('AccountDeleted', { emailHash: hash('e'), nodes: [] }))
    given(accountDecider, ...owner, gone)
      .when(end)
      .then()
  })
  test('is refused with an older password, and for a caller without an account', () => {
    given(accountDecider, created, fact('PasswordChanged', { passwordRecord: id(7) }))
      .when(end)
      .refuses('PASSWORD_CHANGED')
    for (const history of [[], [session]])
      given(accountDecider, ...history)
        .when(end)
        .refuses('NOT_AN_ACCOUNT')
  })
  test('permanently ends every token, key and permission of the account', () => {
    const key = { keyId: id(5), keyHash: hash('c'), prefix: 'pak_abcd', suffix: 'wxyz', nameRecord: null, expiresAt: null }
    const after = [...owner, fact('ApiKeyCreated', key), fact('OperatorGranted', { by: 'console', reason: 'first' }), gone]
    const state = fold(accountDecider, after)
    expect(state).toMatchObject({ kind: 'deleted', keys: [], nodes: {}, isOperator: false, passwordRecord: null })
    expect([state.logins[hash('b')], state.apiKeys[id(5)]?.active]).toEqual(['ended', false])
    expect(accountProcess(state, id(1))).toEqual([])
    // Late commands add no fact to a deleted account.
    const late = [
      commandBody('OpenSession', { keyHash: hash('a'), orderId: id(3) }),
      commandBody('IssueOrderKey', { keyHash: hash('a'), orderId: id(3) }),
      commandBody('RecordNodeClaim', { pubkey, granted: true }),
      commandBody('CreateAccount', { ...record, tokenHash: hash('b'), tokenExpiresAt: 5000 }),
      commandBody('LogOut', { tokenHash: hash('b') }),
    ]
    for (const command of late)
      given(accountDecider, ...after)
        .when(command)
        .then()
    const refused = [
      commandBody('RecordLogin', { tokenHash: hash('d'), expiresAt: 5000, passwordRecord: id(2) }),
      commandBody('CreateApiKey', { ...key, keyId: id(6) }),
      commandBody('ChallengeNode', { pubkey, challenge }),
      commandBody('GrantOperator', { by: 'console', reason: 'again' }),
    ]
    for (const command of refused)
      given(accountDecider, ...after)
        .when(command)
        .refuses('NOT_AN_ACCOUNT')
  })
})

describe('API keys', () => {
  const key = (n: number, expiresAt: number | null = null) => ({
    keyId: id(n),
    keyHash: hash('c'),
    prefix: 'pak_abcd',
    suffix: 'wxyz',
    nameRecord: id(9),
    expiresAt,
  })
  test('are created once, with a future expiry or none', () => {
    given(accountDecider, created)
      .when(commandBody('CreateApiKey', key(5, 200)), 199)
      .then(fact('ApiKeyCreated', key(5, 200)))
    given(accountDecider, created, fact('ApiKeyCreated', key(5, 200)))
      .when(commandBody('CreateApiKey', key(5, 200)), 300)
      .then()
    given(accountDecider, created)
      .when(commandBody('CreateApiKey', key(5, 200)), 200)
      .refuses('EXPIRY_PASSED')
  })
  test('are revoked once, and an unknown key is not found', () => {
    const revoked = fact('ApiKeyRevoked', { keyId: id(5) })
    given(accountDecider, created, fact('ApiKeyCreated', key(5)))
      .when(commandBody('RevokeApiKey', { keyId: id(5) }))
      .then(revoked)
    given(accountDecider, created, fact('ApiKeyCreated', key(5)), revoked)
      .when(commandBody('RevokeApiKey', { keyId: id(5) }))
      .then()
    given(accountDecider, created)
      .when(commandBody('RevokeApiKey', { keyId: id(5) }))
      .refuses('KEY_NOT_FOUND')
  })
  test('are limited to a hundred active keys', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      fact('ApiKeyCreated', { ...key(1, n === 0 ? 50 : null), keyId: `01890000-0000-7000-8000-${`${n}`.padStart(12, '0')}` }),
    )
    const one = { ...key(1), keyId: '01890000-0000-7000-8000-000000000999' }
    given(accountDecider, created, ...many)
      .when(commandBody('CreateApiKey', one), 49)
      .refuses('TOO_MANY_KEYS')
    given(accountDecider, created, ...many)
      .when(commandBody('CreateApiKey', one), 50)
      .then(fact('ApiKeyCreated', one))
  })
})

describe('a node', () => {
  test('gets a challenge, with ten minutes to sign it', () => {
    const requestChallenge = commandBody('ChallengeNode', { pubkey, challenge })
    given(accountDecider, created).when(requestChallenge, 0).then(challenged)
    given(accountDecider, created, challenged).when(requestChallenge, 5).then()
  })
  test('is proven by its signature over exactly its challenge', () => {
    given(accountDecider, created, challenged)
      .when(connect(), MINUTES_10 - 1)
      .then(proven)
    given(accountDecider, created, challenged).when(connect(), MINUTES_10).refuses('CHALLENGE_EXPIRED')
    given(accountDecider, created).when(connect()).refuses('CHALLENGE_UNKNOWN')
    for (const signature of [
      'd'.repeat(104),
      '',
      signMessage(new Uint8Array(32).fill(8), challenge),
      signMessage(secret, `${challenge} `),
    ])
      given(accountDecider, created, challenged).when(connect(signature)).refuses('SIGNATURE_WRONG')
    given(accountDecider, created, fact('NodeChallenged', { pubkey: `02${hash('1')}`, challenge, expiresAt: 9 }))
      .when(connect())
      .refuses('CHALLENGE_UNKNOWN')
  })
  test('can use its challenge once', () => {
    given(accountDecider, created, challenged, proven).when(connect()).then()
    expect(given(accountDecider, created, challenged, proven).state.challenges).toEqual([])
  })
  test('is claimed by the process until the claim is answered', () => {
    const steps = (...history: AccountFact[]) => accountProcess(fold(accountDecider, history), id(1))
    expect(steps(created, challenged)).toEqual([])
    expect(steps(created, challenged, proven)).toMatchObject([
      { category: 'nodeclaim', id: pubkey, command: { type: 'ClaimNode', data: { accountId: id(1) } } },
    ])
    expect(steps(created, challenged, proven, connected)).toEqual([])
    expect(steps(created, challenged, proven, taken)).toEqual([])
  })
  test('is connected or refused by the answer, once', () => {
    const answer = (granted: boolean) => commandBody('RecordNodeClaim', { pubkey, granted })
    given(accountDecider, created, challenged, proven).when(answer(true)).then(connected)
    given(accountDecider, created, challenged, proven, connected).when(answer(true)).then()
    given(accountDecider, created, challenged, proven).when(answer(false)).then(taken)
    given(accountDecider, created, challenged, proven, taken).when(answer(false)).then()
    given(accountDecider, created, challenged, proven, taken).when(connect()).refuses('NODE_TAKEN')
    given(accountDecider, created, challenged, proven, taken)
      .when(commandBody('ChallengeNode', { pubkey, challenge: `${challenge}2` }))
      .refuses('NODE_TAKEN')
  })
  test('has only its 20 latest challenges in the state', () => {
    const many = Array.from({ length: 30 }, (_, n) =>
      fact('NodeChallenged', { pubkey, challenge: `${challenge}${n}`, expiresAt: 9 }),
    )
    expect(given(accountDecider, created, ...many).state.challenges.map((one) => one.challenge)).toEqual(
      many.slice(10).map((one) => (one.data as { challenge: string }).challenge),
    )
  })
})

describe('a change of password', () => {
  const change = (replaces = id(2), apiKeys = false) =>
    commandBody('ChangePassword', { passwordRecord: id(7), replaces, apiKeys })
  const changed = fact('PasswordChanged', { passwordRecord: id(7) })
  const everywhere = fact('LoggedOutEverywhere', { apiKeys: false })
  const loginWith = (passwordRecord: string | null) =>
    commandBody('RecordLogin', { tokenHash: hash('f'), expiresAt: 5000, passwordRecord })
  const login = fact('LoginRecorded', { tokenHash: hash('f'), expiresAt: 5000 })
  test('ends every token and, on request, every API key', () => {
    given(accountDecider, created, loggedIn).when(change()).then(changed, everywhere)
    given(accountDecider, created, loggedIn)
      .when(change(id(2), true))
      .then(changed, fact('LoggedOutEverywhere', { apiKeys: true }))
    given(accountDecider, created, loggedIn, changed, everywhere)
      .when(commandBody('LogOut', { tokenHash: hash('b') }))
      .then()
  })
  test('happens once, and is refused after another change', () => {
    given(accountDecider, created, changed, everywhere).when(change()).then()
    given(accountDecider, created)
      .when(change(id(3)))
      .refuses('PASSWORD_CHANGED')
  })
  test('refuses a log-in that was compared with the older password', () => {
    const history = [created, changed, everywhere]
    given(accountDecider, ...history)
      .when(loginWith(id(2)))
      .refuses('PASSWORD_CHANGED')
    given(accountDecider, ...history)
      .when(loginWith(id(7)))
      .then(login)
    given(accountDecider, ...history)
      .when(loginWith(null))
      .then(login)
  })
})

test('logging out everywhere ends open log-ins and, on request, API keys, once', () => {
  const key = { keyId: id(5), keyHash: hash('c'), prefix: 'pak_abcd', suffix: 'wxyz', nameRecord: null, expiresAt: null }
  const out = (apiKeys: boolean) => commandBody('LogOutEverywhere', { apiKeys })
  const everywhere = (apiKeys: boolean) => fact('LoggedOutEverywhere', { apiKeys })
  const history = [created, loggedIn, fact('ApiKeyCreated', key)]
  given(accountDecider, ...history)
    .when(out(false))
    .then(everywhere(false))
  given(accountDecider, ...history, everywhere(false))
    .when(out(false))
    .then()
  given(accountDecider, ...history, everywhere(false))
    .when(out(true))
    .then(everywhere(true))
  given(accountDecider, ...history, everywhere(true))
    .when(commandBody('RevokeApiKey', { keyId: id(5) }))
    .then()
})

test('the operator role is granted and revoked, with author and reason', () => {
  const grant = { by: 'console', reason: 'first operator' }
  given(accountDecider, created).when(commandBody('GrantOperator', grant)).then(fact('OperatorGranted', grant))
  given(accountDecider, created, fact('OperatorGranted', grant)).when(commandBody('GrantOperator', grant)).then()
  given(accountDecider, created, fact('OperatorGranted', grant))
    .when(commandBody('RevokeOperator', grant))
    .then(fact('OperatorRevoked', grant))
  given(accountDecider, created).when(commandBody('RevokeOperator', grant)).then()
})

test('a repeated command adds no fact after any history', () => {
  const keyed = { keyHash: hash('a'), orderId: id(3) }
  const any = fc.constantFrom<{ type: AccountCommand['type']; data: object }>(
    commandBody('CreateAccount', { ...record, tokenHash: hash('b'), tokenExpiresAt: 5000 }),
    commandBody('OpenSession', keyed),
    commandBody('IssueOrderKey', { ...keyed, keyHash: hash('9') }),
    commandBody('RecordLogin', { tokenHash: hash('7'), expiresAt: 1, passwordRecord: null }),
    commandBody('ChangePassword', { passwordRecord: id(2), replaces: id(2), apiKeys: false }),
    commandBody('LogOutEverywhere', { apiKeys: true }),
    commandBody('LogOut', { tokenHash: hash('7') }),
    commandBody('CreateApiKey', {
      keyId: id(5),
      keyHash: hash('c'),
      prefix: 'pak_abcd',
      suffix: 'wxyz',
      nameRecord: null,
      expiresAt: null,
    }),
    commandBody('RevokeApiKey', { keyId: id(5) }),
    commandBody('ChallengeNode', { pubkey, challenge }),
    connect(),
    commandBody('RecordNodeClaim', { pubkey, granted: true }),
    commandBody('RecordNodeClaim', { pubkey, granted: false }),
    commandBody('GrantOperator', { by: 'console', reason: 'r' }),
  )
  const decide = (state: typeof accountDecider.initial, command: object) => {
    const decision = accountDecider.decide(state, { id: 'c', at: 0, ...command } as AccountCommand) // with an id and a time
    return 'facts' in decision ? decision.facts : []
  }
  fc.assert(
    fc.property(fc.array(any, { maxLength: 30 }), (commands) => {
      let state = accountDecider.initial
      for (const command of commands) {
        state = decide(state, command).reduce(accountDecider.evolve, state)
        expect(decide(state, command)).toEqual([])
      }
    }),
  )
})
