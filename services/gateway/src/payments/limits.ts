import { dashboardLimit } from '../account/limits.ts'
import type { RateLimit } from '../rate-limit.ts'

/** The limit of every operation of payments: by key for a service, and the limit of the dashboard for a user. */
export const paymentsLimit: RateLimit = {
  ...dashboardLimit,
  ofServiceKey: { name: 'service-key', perMinute: ({ serviceKeyPerMinute }) => serviceKeyPerMinute },
}
