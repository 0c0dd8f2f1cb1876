import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { hashEmail, readLoginChallenge } from '@penstock/credentials/credentials.ts'
import { verifyPassword } from '@penstock/credentials/passwords.ts'
import { anyone } from '../../access.ts'
import { assertAccepted } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { parsePubkeyField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { findAccountByEmail, findNodeOwner } from '../read/accounts.ts'
import { logInLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { countLoginAttempt, refuseLogin } from './login-attempts.ts'
import { completeLogin, createLoginToken } from './login-token.ts'
import { MAX_PASSWORD_LENGTH } from './passwords.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { readRecordText } from '../../read-record-text.ts'
import type { AccountMutationsLoginArgs } from '../../generated/schema-types.ts'

type PasswordLogin = { readonly email: string; readonly password: string }
type NodeLogin = { readonly pubkey: string; readonly challenge: string; readonly signature: string }

function parseLogin({ input }: AccountMutationsLoginArgs): PasswordLogin | NodeLogin {
  const { email, password, pubkey, challenge, signature } = input
  if (pubkey && challenge && signature) return { pubkey: parsePubkeyField(pubkey), challenge, signature }
  if (!email || !password) throw invalidInput('Give email and password, or pubkey, challenge and signature.')
  return { email, password }
}

/** Failures are counted per account and IP address, so that a stranger cannot lock out the owner. */
export const logIn = mutation({
  path: 'account.login',
  limit: logInLimit,
  access: anyone,
  input: parseLogin,
  run: (login, { gateway, ip }) => ('pubkey' in login ? logInByNode(gateway, ip, login) : logInByPassword(gateway, ip, login)),
})

const OUTDATED_CODES: ReadonlySet<string> = new Set(['PASSWORD_CHANGED', 'NOT_AN_ACCOUNT'])

async function logInByPassword(gateway: Gateway, ip: string, { email, password }: PasswordLogin) {
  const emailHash = hashEmail(gateway.pepper, email)
  const attempt = { method: 'password', account: emailHash, ip } as const
  const counted = await countLoginAttempt(gateway, attempt)
  const accountRow = await findAccountByEmail(gateway.views, emailHash)
  const stored = await readRecordText(gateway.records, accountRow?.password_record ?? null, 'hash')
  const isPasswordCorrect = await verifyPassword(gateway.pepper, password.slice(0, MAX_PASSWORD_LENGTH), stored)
  if (!accountRow || !isPasswordCorrect) throw refuseLogin(gateway, attempt)
  await counted.takeBack()
  const login = createLoginToken(gateway, ip)
  const until = getAnswerDeadline(gateway)
  const { tokenHash, expiresAt } = login
  const data = { tokenHash, expiresAt, passwordRecord: accountRow.password_record }
  const answer = await gateway.commands.sendAndWait(
    command<AccountTarget>('account', accountRow.id, { type: 'RecordLogin', data }),
    { until },
  )
  // The password was changed, or the account was deleted, after the check of the password.
  if (answer.outcome === 'refused' && OUTDATED_CODES.has(answer.code)) throw refuseLogin(gateway, attempt)
  assertAccepted(answer)
  return completeLogin(gateway, login, accountRow.id, until)
}

async function logInByNode(gateway: Gateway, ip: string, { pubkey, challenge, signature }: NodeLogin) {
  const attempt = { method: 'node', account: pubkey, ip } as const
  const counted = await countLoginAttempt(gateway, attempt)
  const challengeExpiresAt = readLoginChallenge(gateway.pepper, pubkey, challenge)
  const owner = await findNodeOwner(gateway.views, pubkey)
  if (challengeExpiresAt === undefined || !owner || signature.length > 256) throw refuseLogin(gateway, attempt)
  const login = createLoginToken(gateway, ip)
  const until = getAnswerDeadline(gateway)
  const data = { pubkey, challenge, challengeExpiresAt, signature, tokenHash: login.tokenHash, expiresAt: login.expiresAt }
  const answer = await gateway.commands.sendAndWait(
    command<AccountTarget>('account', owner.account_id, { type: 'LoginByNode', data }),
    {
      until,
    },
  )
  // Every cause gets the same message, so that the answer does not reveal which nodes have an account.
  if (answer.outcome === 'refused') throw refuseLogin(gateway, attempt)
  await counted.takeBack()
  assertAccepted(answer)
  return completeLogin(gateway, login, owner.account_id, until)
}
