import { createDnsResolver } from '@penstock/adapters/system/dns.ts'
import { createPublicHostGuard, type HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/** Checks the hosts of webhooks. It is in force on every network, because a stranger chooses them on every network. */
export const createWebhookGuard = (clock: Clock): HostGuard =>
  createPublicHostGuard({ resolve: createDnsResolver(clock), hasTor: async () => false })
