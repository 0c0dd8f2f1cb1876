import type { Deliveries } from '@penstock/ports/deliveries.ts'
import type { WebhookDb } from './tables.ts'

/** Deletes what the log no longer shows. @returns whether more is left */
export const pruneEvents = (
  db: WebhookDb,
  { bodiesBefore, rowsBefore, max }: Parameters<Deliveries['prune']>[0],
): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const select = (body: 'is' | 'is not', before: number) =>
      trx
        .selectFrom('webhook_events')
        .select('id')
        .where('body', body, null)
        .where('created_at', '<', before)
        .orderBy('created_at')
        .limit(max + 1)
        .execute()
    const bodies = (await select('is not', Math.max(bodiesBefore, rowsBefore))).map(({ id }) => id)
    await deleteBodies(trx, bodies.slice(0, max))
    const rows = (await select('is', rowsBefore)).map(({ id }) => id)
    await deleteRows(trx, rows.slice(0, max))
    return bodies.length > max || rows.length > max
  })

/** An event without a body is not sent, so its pending attempts are cancelled. */
async function deleteBodies(db: WebhookDb, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return
  await db.deleteFrom('webhook_attempts').where('event_id', 'in', eventIds).where('begun_at', 'is', null).execute()
  await db.updateTable('webhook_events').set({ body: null }).where('id', 'in', eventIds).execute()
}

async function deleteRows(db: WebhookDb, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return
  await db.deleteFrom('webhook_attempts').where('event_id', 'in', eventIds).execute()
  await db.deleteFrom('webhook_events').where('id', 'in', eventIds).execute()
}
