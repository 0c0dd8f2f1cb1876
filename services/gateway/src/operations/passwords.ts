import { account } from '@penstock/contracts/accounts.ts'
import { hashPassword, verifyPassword } from '@penstock/runtime/passwords.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, dashboardUser } from '../callers.ts'
import { accepted } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { accountById, recordText } from '../read/accounts.ts'
import { countAttempt } from './login-attempts.ts'
import { answerBy } from './offers.ts'
import { recordRefusal } from '../web/refusals.ts'

const MIN_PASSWORD = 12
export const MAX_PASSWORD = 1024

/** As people count: a character outside the basic plane is one, not two. */
export const hasGoodLength = (password: string): boolean =>
  Array.from(password).length >= MIN_PASSWORD && password.length <= MAX_PASSWORD

export type ChangePasswordInput = {
  readonly password: string
  readonly new_password: string
  readonly end_api_keys?: boolean | null
}

/** Ends every token of the account: whoever knew the old password is out. A stolen token cannot try passwords without end. */
export async function changePassword(gateway: Gateway, caller: Caller | null, ip: string, input: ChangePasswordInput) {
  const { accountId } = dashboardUser(caller)
  const { ids, records, pepper, clock } = gateway
  if (!hasGoodLength(input.new_password)) throw invalid('new_password must have at least 12 characters, and at most 1024')
  const replaces = await verifiedRecord(gateway, accountId, ip, input.password)
  const passwordRecord = ids.uuid()
  await records.put(
    passwordRecord,
    'password',
    JSON.stringify({ hash: await hashPassword(pepper, input.new_password) }),
    clock.now(),
  )
  const command = { passwordRecord, replaces, apiKeys: input.end_api_keys === true }
  const answer = await gateway.commands.ask(ask(account, accountId, 'ChangePassword', command), { until: answerBy(gateway) })
  if (answer.outcome === 'refused') await records.delete(passwordRecord)
  accepted(answer)
  await records.delete(replaces)
  return { id: accountId, success: true }
}

/** @returns the record that the password was compared with @throws that it is wrong, or was tried too often */
export async function verifiedRecord(gateway: Gateway, accountId: string, ip: string, password: string): Promise<string> {
  const found = await accountById(gateway.views, accountId)
  const attempt = { method: 'password', account: found?.email_hash ?? accountId, ip } as const
  const counted = await countAttempt(gateway, attempt)
  const stored = await recordText(gateway.records, found?.password_record ?? null, 'hash')
  const isRight = await verifyPassword(gateway.pepper, password.slice(0, MAX_PASSWORD), stored)
  if (!found?.password_record || !isRight) {
    recordRefusal(gateway, { ...attempt, code: 'wrong' })
    throw invalid('The password is wrong.')
  }
  await counted.takeBack()
  return found.password_record
}

/** Ends every dashboard token, the caller's too. */
export async function logOutEverywhere(gateway: Gateway, caller: Caller | null, apiKeys: boolean) {
  const { accountId } = dashboardUser(caller)
  const out = ask(account, accountId, 'LogOutEverywhere', { apiKeys })
  accepted(await gateway.commands.ask(out, { until: answerBy(gateway) }))
  return { id: accountId, success: true }
}
