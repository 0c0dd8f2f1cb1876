import type { RateLimit } from '../rate-limit.ts'

export const signUpLimit: RateLimit = { name: 'sign-up', by: 'ip', perMinute: ({ loginPerMinute }) => loginPerMinute }
// This limit bounds the cost of password hashes, of which each log-in computes one. Failures at one account have a lower limit.
export const logInLimit: RateLimit = {
  name: 'log-in',
  by: 'ip',
  perMinute: ({ loginPerMinute }) => 10 * loginPerMinute,
  isAuthentication: true,
}
export const dashboardLimit: RateLimit = {
  name: 'dashboard',
  by: 'user',
  perMinute: ({ dashboardPerMinute }) => dashboardPerMinute,
}
