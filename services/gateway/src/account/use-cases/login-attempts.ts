import { invalidInput } from '../../errors.ts'
import { countUse } from '../../rate-limit.ts'
import type { Gateway } from '../../ports.ts'
import { tooManyRequests } from '../../http/too-many-requests.ts'
import { recordRefusal } from '../../http/refusals.ts'

type LoginAttempt = { readonly method: 'password' | 'node'; readonly account: string; readonly ip: string }

/** Counts an attempt as a failure before its check. A success calls `takeBack`. @throws an error after too many failures */
export async function countLoginAttempt(gateway: Gateway, attempt: LoginAttempt) {
  const { account: subject, ip } = attempt
  const use = { name: 'failed-log-in', subject, ip, perMinute: gateway.config.loginPerMinute }
  const { exceeded, takeBack } = await countUse(gateway, use)
  if (!exceeded) return { takeBack }
  recordRefusal(gateway, { ...attempt, code: 'limited' })
  throw tooManyRequests(exceeded)
}

/** Records the refusal. @returns an error with the same message for every cause */
export function refuseLogin(gateway: Gateway, attempt: LoginAttempt): Error {
  recordRefusal(gateway, { ...attempt, code: 'wrong' })
  return invalidInput('The log-in is not valid.')
}
