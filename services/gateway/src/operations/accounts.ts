import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { DAY_MS, isoTime, MINUTE_MS } from '@penstock/kernel/time.ts'
import { hashCredential, hashEmail, loginChallenge, newCredential, readLoginChallenge } from '@penstock/runtime/credentials.ts'
import { hashPassword, verifyPassword } from '@penstock/runtime/passwords.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, dashboardUser, identity } from '../callers.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import { pubkeyOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { accountByEmail, accountById, credentialExists, nodesOf, ownerOfNode, recordText } from '../read/accounts.ts'
import { beginSession } from '../views/sessions.ts'
import { answerBy } from './offers.ts'
import { countAttempt, refuseLogin } from './login-attempts.ts'
import { hasGoodLength, MAX_PASSWORD } from './passwords.ts'

export type CreateAccountInput = { readonly email: string; readonly password: string }

/** Without e-mail sign-up cannot hide that an address is taken; the limit by address bounds how many can be asked for. */
const signUpRefused = () =>
  invalid('The account cannot be created: use an e-mail address that has none yet, and a password of at least 12 characters.')

export async function createAccount(gateway: Gateway, ip: string, { email, password }: CreateAccountInput) {
  const { ids, records, pepper, clock } = gateway
  const address = email.trim()
  if (!isEmail(address)) throw invalid('email must be an e-mail address')
  const emailHash = hashEmail(pepper, address)
  if (!hasGoodLength(password)) throw signUpRefused()
  const [accountId, emailRecord, passwordRecord] = [ids.uuid(), ids.uuid(), ids.uuid()]
  await records.put(emailRecord, 'email', JSON.stringify({ email: address }), clock.now())
  await records.put(passwordRecord, 'password', JSON.stringify({ hash: await hashPassword(pepper, password) }), clock.now())
  const login = newLogin(gateway, ip)
  const claim = { accountId, emailRecord, passwordRecord, tokenHash: login.tokenHash, tokenExpiresAt: login.expiresAt }
  const until = answerBy(gateway)
  const answer = await gateway.commands.ask(ask(emailClaim, emailHash, 'ClaimEmail', claim), { until, correlation: accountId })
  if (answer.outcome === 'refused') {
    await Promise.all([records.delete(emailRecord), records.delete(passwordRecord)])
    throw signUpRefused()
  }
  accepted(answer)
  return loggedIn(gateway, login, accountId, until)
}

export type LoginInput = {
  readonly email?: string | null
  readonly password?: string | null
  readonly pubkey?: string | null
  readonly challenge?: string | null
  readonly signature?: string | null
}

const OUTDATED: ReadonlySet<string> = new Set(['PASSWORD_CHANGED', 'NOT_AN_ACCOUNT'])

/** @param ip the caller's address: failures are counted by account and address, so that nobody locks an owner out */
export async function logIn(gateway: Gateway, ip: string, input: LoginInput) {
  const { email, password, pubkey, challenge, signature } = input
  if (pubkey && challenge && signature) return logInByNode(gateway, ip, { pubkey: pubkeyOf(pubkey), challenge, signature })
  if (!email || !password) throw invalid('Give email and password, or pubkey, challenge and signature.')
  const emailHash = hashEmail(gateway.pepper, email)
  const attempt = { method: 'password', account: emailHash, ip } as const
  const counted = await countAttempt(gateway, attempt)
  const found = await accountByEmail(gateway.views, emailHash)
  const stored = await recordText(gateway.records, found?.password_record ?? null, 'hash')
  const isRight = await verifyPassword(gateway.pepper, password.slice(0, MAX_PASSWORD), stored)
  if (!found || !isRight) throw refuseLogin(gateway, attempt)
  await counted.takeBack()
  const login = newLogin(gateway, ip)
  const until = answerBy(gateway)
  const { tokenHash, expiresAt } = login
  const command = { tokenHash, expiresAt, passwordRecord: found.password_record }
  const answer = await gateway.commands.ask(ask(account, found.id, 'RecordLogin', command), { until })
  // The password was changed meanwhile, so this one is an old one; or the account was deleted.
  if (answer.outcome === 'refused' && OUTDATED.has(answer.code)) throw refuseLogin(gateway, attempt)
  accepted(answer)
  return loggedIn(gateway, login, found.id, until)
}

type NodeLogin = { readonly pubkey: string; readonly challenge: string; readonly signature: string }

async function logInByNode(gateway: Gateway, ip: string, { pubkey, challenge, signature }: NodeLogin) {
  const attempt = { method: 'node', account: pubkey, ip } as const
  const counted = await countAttempt(gateway, attempt)
  const challengeExpiresAt = readLoginChallenge(gateway.pepper, pubkey, challenge)
  const owner = await ownerOfNode(gateway.views, pubkey)
  if (challengeExpiresAt === undefined || !owner || signature.length > 256) throw refuseLogin(gateway, attempt)
  const login = newLogin(gateway, ip)
  const until = answerBy(gateway)
  const command = { pubkey, challenge, challengeExpiresAt, signature, tokenHash: login.tokenHash, expiresAt: login.expiresAt }
  const answer = await gateway.commands.ask(ask(account, owner.account_id, 'LoginByNode', command), { until })
  // One sentence: which of it is wrong would tell whether the node has an account here.
  if (answer.outcome === 'refused') throw refuseLogin(gateway, attempt)
  await counted.takeBack()
  accepted(answer)
  return loggedIn(gateway, login, owner.account_id, until)
}

/** Nothing is stored for whoever asks: the challenge carries its own seal. */
export const challengeLogin = ({ pepper, clock, ids }: Gateway, pubkey: string): string =>
  loginChallenge(pepper, { pubkey: pubkeyOf(pubkey), expiresAt: clock.now() + 10 * MINUTE_MS }, ids)

export async function logOut(gateway: Gateway, caller: Caller | null) {
  const { accountId, credential } = dashboardUser(caller)
  const tokenHash = hashCredential(gateway.pepper, credential)
  accepted(await gateway.commands.ask(ask(account, accountId, 'LogOut', { tokenHash }), { until: answerBy(gateway) }))
  return { id: accountId, success: true }
}

type Login = { readonly token: string; readonly tokenHash: string; readonly expiresAt: number; readonly ip: string }

function newLogin({ ids, pepper, clock, config }: Gateway, ip: string): Login {
  const token = newCredential('pdt_', ids)
  return { token, tokenHash: hashCredential(pepper, token), expiresAt: clock.now() + config.dashboardTokenDays * DAY_MS, ip }
}

/** A token is told only when every replica knows it. */
async function loggedIn(gateway: Gateway, { token, tokenHash, ip }: Login, accountId: string, until: number) {
  inTime(
    await gateway.waits.wait(async () => (await credentialExists(gateway.views, tokenHash)) || undefined, [accountId], until),
  )
  await beginSession(gateway.views, { hash: tokenHash, ip, now: gateway.clock.now() })
  return { id: accountId, token, account: await profileOf(gateway, accountId) }
}

export const me = (gateway: Gateway, caller: Caller | null) => profileOf(gateway, identity(caller).accountId)

async function profileOf({ views, records, nodes: book }: Gateway, accountId: string) {
  const found = await accountById(views, accountId)
  const nodes = await nodesOf(views, accountId)
  return {
    id: accountId,
    email: (await recordText(records, found?.email_record ?? null, 'email')) ?? null,
    created_at: found ? isoTime(found.created_at) : null,
    nodes: nodes.map(({ pubkey }) => ({ id: pubkey, pubkey, alias: async () => (await book(pubkey)).alias })),
  }
}

const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@"<>()[\]\\,;:]{1,64}@[^\s@"<>()[\]\\,;:]+\.[^\s@.]{2,}$/.test(text)
