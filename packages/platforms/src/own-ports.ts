import type { Config } from '@penstock/config/config.ts'
import { createGuardedAgent } from '@penstock/outbound/guarded-agent.ts'
import { postOnce } from '@penstock/outbound/post-once.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Deliveries } from '@penstock/ports/deliveries.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { PostWebhook } from '@penstock/ports/post-webhook.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { PortOpeners } from '@penstock/runtime/manifest.ts'
import { createVaultOpeners } from './vault.ts'
import { createWebhookGuard } from './webhook-guard.ts'

/** The limit of one attempt to deliver a webhook, from the look-up of the name to the end of the answer. */
const WEBHOOK_TIMEOUT_MS = 15_000

type OwnStores = {
  readonly config: Config
  readonly clock: Clock
  readonly store: EventStore
  readonly records: Records
  readonly deliveries: Deliveries
}

export type OwnPortOpeners = Omit<PortOpeners, 'externalWorld'>

/** The functions that open a market's own ports: its stores, the two sides of its vault, and the calls of webhooks. */
export const createOwnPortOpeners = (
  { config, clock, store, records, deliveries }: OwnStores,
  dir: { readonly path: string },
): OwnPortOpeners => ({
  facts: () => store,
  records: () => records,
  deliveries: () => deliveries,
  postWebhook: () => openWebhookPoster(config, clock),
  ...createVaultOpeners(dir, config),
})

function openWebhookPoster(config: Config, clock: Clock): PostWebhook {
  const agent = createGuardedAgent({ guard: createWebhookGuard(clock), allowLoopback: config.webhookAllowLoopback })
  return (request) => postOnce(agent, { ...request, timeoutMs: WEBHOOK_TIMEOUT_MS })
}
