import type { Deliveries } from '@penstock/ports/deliveries.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { PostWebhook } from '@penstock/ports/post-webhook.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Opener } from '@penstock/ports/vault.ts'

export type WebhookPorts = {
  readonly facts: Pick<EventStore, 'read' | 'follow'>
  /** The texts of transactions, the URLs and the sealed secrets of endpoints. */
  readonly records: Pick<Records, 'get'>
  readonly deliveries: Deliveries
  readonly opener: Opener
  readonly postWebhook: PostWebhook
}
