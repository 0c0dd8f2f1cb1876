import { invalid } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { tooMany } from '../web/rate-limit.ts'
import { recordRefusal } from '../web/refusals.ts'
import { countUse } from './throttle.ts'

export type Attempt = { readonly method: 'password' | 'node'; readonly account: string; readonly ip: string }

/** Counts it as a failure until it is known to be none: many at once gain nothing. @throws that there were too many */
export async function countAttempt(gateway: Gateway, attempt: Attempt) {
  const { account: subject, ip } = attempt
  const use = { name: 'failed-log-in', subject, ip, perMinute: gateway.config.loginPerMinute }
  const { exceeded, takeBack } = await countUse(gateway, use)
  if (!exceeded) return { takeBack }
  recordRefusal(gateway, { ...attempt, code: 'limited' })
  throw tooMany(exceeded)
}

/** Records it, and @returns the error that says the same whatever was wrong. */
export function refuseLogin(gateway: Gateway, attempt: Attempt): Error {
  recordRefusal(gateway, { ...attempt, code: 'wrong' })
  return invalid('The log-in is not valid.')
}
