import type { RateLimit } from '../../rate-limit.ts'
import { isMarketBusy } from './place-order.ts'

/** A buyer that comes back after the time of a refusal must not reach its limit by that. */
export const buyLimit: RateLimit = {
  name: 'buy',
  by: 'ip',
  perMinute: ({ buyPerMinute }) => buyPerMinute,
  isSuspended: isMarketBusy,
}
