import type { Config } from '@penstock/config/config.ts'

/** `by` says whether uses are counted per IP address or per account. */
export type RateLimit = { readonly name: string; readonly by: 'ip' | 'user'; readonly perMinute: (config: Config) => number }

export const buyLimit: RateLimit = { name: 'buy', by: 'ip', perMinute: ({ buyPerMinute }) => buyPerMinute }
export const signUpLimit: RateLimit = { name: 'sign-up', by: 'ip', perMinute: ({ loginPerMinute }) => loginPerMinute }
// This limit bounds the cost of password hashes, of which each log-in computes one. Failures at one account have a lower limit.
export const logInLimit: RateLimit = { name: 'log-in', by: 'ip', perMinute: ({ loginPerMinute }) => 10 * loginPerMinute }
export const dashboardLimit: RateLimit = {
  name: 'dashboard',
  by: 'user',
  perMinute: ({ dashboardPerMinute }) => dashboardPerMinute,
}
