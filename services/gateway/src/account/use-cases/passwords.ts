import { verifyPassword } from '@penstock/credentials/passwords.ts'
import { invalidInput } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'
import { findAccount } from '../read/accounts.ts'
import { recordRefusal } from '../../http/refusals.ts'
import { countLoginAttempt } from './login-attempts.ts'
import { readRecordText } from '../../read-record-text.ts'

const MIN_PASSWORD_LENGTH = 12
export const MAX_PASSWORD_LENGTH = 1024

/** The minimum counts code points, so a character outside the basic plane counts once. */
export const hasValidPasswordLength = (password: string): boolean =>
  Array.from(password).length >= MIN_PASSWORD_LENGTH && password.length <= MAX_PASSWORD_LENGTH

/** @returns the id of the account's password record @throws if the password is wrong or was tried too often */
export async function verifyAccountPassword(gateway: Gateway, accountId: string, ip: string, password: string): Promise<string> {
  const accountRow = await findAccount(gateway.views, accountId)
  const attempt = { method: 'password', account: accountRow?.email_hash ?? accountId, ip } as const
  const counted = await countLoginAttempt(gateway, attempt)
  const stored = await readRecordText(gateway.records, accountRow?.password_record ?? null, 'hash')
  const isPasswordCorrect = await verifyPassword(gateway.pepper, password.slice(0, MAX_PASSWORD_LENGTH), stored)
  if (!accountRow?.password_record || !isPasswordCorrect) {
    recordRefusal(gateway, { ...attempt, code: 'wrong' })
    throw invalidInput('The password is wrong.')
  }
  await counted.takeBack()
  return accountRow.password_record
}
