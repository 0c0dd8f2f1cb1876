import type { RateLimit } from '../../rate-limit.ts'

export const buyLimit: RateLimit = { name: 'buy', by: 'ip', perMinute: ({ buyPerMinute }) => buyPerMinute }
