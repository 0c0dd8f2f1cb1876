import { memoryVault } from '@penstock/adapters/memory/vault.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { PostWebhook, WebhookAnswer, WebhookRequest } from '@penstock/ports/post-webhook.ts'
import type { Views } from '@penstock/ports/views.ts'

/** The ports of webhooks on the stores of a test, with a receiver whose answers the test chooses. */
export async function createWebhookPorts({ store, views }: { readonly store: EventStore; readonly views: Views }) {
  const vault = memoryVault(new Uint8Array(32))
  const received: WebhookRequest[] = []
  const receiver: { answer: (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer> } = {
    answer: () => ({ kind: 'answered', status: 200, retryAfterSeconds: null }),
  }
  const postWebhook: PostWebhook = async (request) => {
    received.push(request)
    return receiver.answer(request)
  }
  const records = await sqlRecords(views)
  const deliveries = await sqlDeliveries(views)
  return { ports: { facts: store, records, deliveries, opener: vault, postWebhook }, sealer: vault, received, receiver }
}
