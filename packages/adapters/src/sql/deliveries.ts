import type { Deliveries, DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { Views } from '@penstock/ports/views.ts'
import { endAttempts } from './deliveries/end.ts'
import { findEndpoint, findEndpoints } from './deliveries/endpoints.ts'
import { createDeliveryLog } from './deliveries/log.ts'
import { pruneEvents } from './deliveries/prune.ts'
import { beginAttempts, countAttempts, findDue, findInProgress, findNextDueAt } from './deliveries/queue.ts'
import { FEED, recordBatch } from './deliveries/record.ts'
import { migrateWebhookTables, type WebhookTables } from './deliveries/tables.ts'

/**
 * Stores the deliveries of webhooks in tables. The database may lose its last commits, because each fact is in one commit with the
 * position after it. It must not be deleted: without the position, the feed makes the deliveries of all facts again.
 */
export async function sqlDeliveries(views: Views): Promise<Deliveries & DeliveryLog> {
  await migrateWebhookTables(views)
  const db = views.db.$extendTables<WebhookTables>()
  return {
    async readPosition() {
      const row = await db.selectFrom('webhook_feed').select('position').where('name', '=', FEED).executeTakeFirst()
      return row ? BigInt(row.position) : 'start'
    },
    findEndpoint: (id) => findEndpoint(db, id),
    findEndpoints: (environmentIds) => findEndpoints(db, environmentIds),
    async hasEndpoints() {
      return (await db.selectFrom('webhook_endpoints').select('id').limit(1).executeTakeFirst()) !== undefined
    },
    async findRedeliverable(eventIds) {
      if (eventIds.length === 0) return []
      const events = db.selectFrom('webhook_events').select('id').where('body', 'is not', null)
      return (await events.where('id', 'in', eventIds).execute()).map(({ id }) => id)
    },
    record: (batch) => recordBatch(db, batch),
    findInProgress: (query) => findInProgress(db, query),
    findDue: (query) => findDue(db, query),
    findNextDueAt: (shards, except) => findNextDueAt(db, shards, except),
    begin: (requests, now, ended) => beginAttempts(db, requests, now, ended),
    end: (outcomes, now) => endAttempts(db, outcomes, now),
    prune: (bounds) => pruneEvents(db, bounds),
    count: (now) => countAttempts(db, now),
    ...createDeliveryLog(db),
  }
}
