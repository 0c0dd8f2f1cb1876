import type { DeliveryBatch, DeliveryChange, NewDelivery, WebhookEventRow } from '@penstock/ports/deliveries.ts'
import { storeEndpoint } from './endpoints.ts'
import { type AttemptRow, shardOf, type WebhookDb } from './tables.ts'

/** The row of `webhook_feed`. */
export const FEED = 'payments'

/** Both databases limit the number of values in a statement. */
const ROWS_PER_INSERT = 500

type Change<Kind extends DeliveryChange['kind']> = Extract<DeliveryChange, { readonly kind: Kind }>

export const recordBatch = (db: WebhookDb, { after, position, changes }: DeliveryBatch): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    if (!(await movePosition(trx, after, position))) return false
    let events: Change<'event'>[] = []
    for (const change of changes) {
      if (change.kind === 'event') {
        events.push(change)
        continue
      }
      await insertEvents(trx, events)
      events = []
      await applyChange(trx, change)
    }
    await insertEvents(trx, events)
    return true
  })

/** The row of the position is also the lock of the feed: a second writer waits for it, and then finds another position. */
async function movePosition(db: WebhookDb, after: DeliveryBatch['after'], position: bigint): Promise<boolean> {
  if (after === 'start') {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('webhook_feed')
      .values({ name: FEED, position: `${position}` })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await db
    .updateTable('webhook_feed')
    .set({ position: `${position}` })
    .where('name', '=', FEED)
    .where('position', '=', `${after}`)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

async function applyChange(db: WebhookDb, change: Exclude<DeliveryChange, Change<'event'>>): Promise<void> {
  switch (change.kind) {
    case 'endpoint':
      return storeEndpoint(db, change.settings)
    case 'resumed':
      return resumeEndpoint(db, change)
    case 'endpoint-deleted': {
      // The row of the endpoint goes first, because the end of an attempt locks it before it plans the next attempt.
      await db.deleteFrom('webhook_endpoints').where('id', '=', change.endpointId).execute()
      return cancelPending(db, [change.endpointId])
    }
    case 'environment-deleted':
      return deleteEnvironment(db, change.environmentId)
    case 'wallet-deleted':
      return deleteWallet(db, change.walletId)
    case 'redelivery':
      return insertRedelivery(db, change)
  }
}

async function resumeEndpoint(db: WebhookDb, { endpointId, endBefore, at }: Change<'resumed'>): Promise<void> {
  await db
    .updateTable('webhook_endpoints')
    .set({ failing_since: null })
    .where('id', '=', endpointId)
    .where('failing_since', '<', at)
    .execute()
  await db
    .deleteFrom('webhook_attempts')
    .where('begun_at', 'is', null)
    .where('ended_at', 'is', null)
    .where('endpoint_id', '=', endpointId)
    .where('event_created_at', '<', endBefore)
    .execute()
}

async function cancelPending(db: WebhookDb, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0) return
  await db
    .deleteFrom('webhook_attempts')
    .where('endpoint_id', 'in', endpointIds)
    .where('begun_at', 'is', null)
    .where('ended_at', 'is', null)
    .execute()
}

async function deleteEnvironment(db: WebhookDb, environmentId: string): Promise<void> {
  const deleted = await db.deleteFrom('webhook_endpoints').where('environment_id', '=', environmentId).returning('id').execute()
  await cancelPending(
    db,
    deleted.map(({ id }) => id),
  )
  await db
    .updateTable('webhook_events')
    .set({ body: null })
    .where('environment_id', '=', environmentId)
    .where('body', 'is not', null)
    .execute()
}

async function deleteWallet(db: WebhookDb, walletId: string): Promise<void> {
  await db
    .deleteFrom('webhook_attempts')
    .where('begun_at', 'is', null)
    .where('ended_at', 'is', null)
    .where('event_id', 'in', (events) => events.selectFrom('webhook_events').select('id').where('wallet_id', '=', walletId))
    .execute()
  await db
    .updateTable('webhook_events')
    .set({ body: null })
    .where('wallet_id', '=', walletId)
    .where('body', 'is not', null)
    .execute()
}

async function insertEvents(db: WebhookDb, changes: readonly Change<'event'>[]): Promise<void> {
  const events = changes.map(({ event }) => ({
    id: event.id,
    envelope_id: event.envelopeId,
    environment_id: event.environmentId,
    wallet_id: event.walletId,
    transaction_id: event.transactionId,
    sequence: event.sequence,
    type: event.type,
    body: event.body,
    created_at: event.createdAt,
  }))
  for (const rows of chunk(events)) await db.insertInto('webhook_events').values(rows).execute()
  const attempts = changes.flatMap(({ event, deliveries }) => deliveries.map((delivery) => toFirstAttempt(event, delivery)))
  for (const rows of chunk(attempts)) await db.insertInto('webhook_attempts').values(rows).execute()
}

const chunk = <Row>(rows: readonly Row[]): readonly (readonly Row[])[] =>
  Array.from({ length: Math.ceil(rows.length / ROWS_PER_INSERT) }, (_, index) =>
    rows.slice(index * ROWS_PER_INSERT, (index + 1) * ROWS_PER_INSERT),
  )

const toFirstAttempt = (event: WebhookEventRow, { attemptId, endpointId, maxAttempts }: NewDelivery): AttemptRow =>
  createAttempt({
    id: attemptId,
    event_id: event.id,
    endpoint_id: endpointId,
    number: 1,
    attempts_left: maxAttempts - 1,
    due_at: event.createdAt,
    transaction_id: event.transactionId,
    sequence: event.sequence,
    event_created_at: event.createdAt,
    created_at: event.createdAt,
  })

type NewAttempt = Omit<AttemptRow, 'shard' | 'begun_at' | 'ended_at' | 'status' | 'http_status' | 'error'>

export const createAttempt = (attempt: NewAttempt): AttemptRow => ({
  ...attempt,
  shard: shardOf(attempt.endpoint_id),
  begun_at: null,
  ended_at: null,
  status: null,
  http_status: null,
  error: null,
})

async function insertRedelivery(db: WebhookDb, { eventId, endpointId, attemptId, at }: Change<'redelivery'>): Promise<void> {
  const event = await db
    .selectFrom('webhook_events as event')
    .innerJoin('webhook_endpoints as endpoint', 'endpoint.environment_id', 'event.environment_id')
    .select(['event.transaction_id', 'event.sequence', 'event.created_at'])
    .where('event.id', '=', eventId)
    .where('event.body', 'is not', null)
    .where('endpoint.id', '=', endpointId)
    .executeTakeFirst()
  if (!event) return
  const number = (await findLastNumber(db, eventId, endpointId)) + 1
  const attempt = createAttempt({
    id: attemptId,
    event_id: eventId,
    endpoint_id: endpointId,
    number,
    attempts_left: 0,
    due_at: at,
    transaction_id: number === 1 ? event.transaction_id : null,
    sequence: event.sequence,
    event_created_at: event.created_at,
    created_at: at,
  })
  await db.insertInto('webhook_attempts').values(attempt).execute()
}

async function findLastNumber(db: WebhookDb, eventId: string, endpointId: string): Promise<number> {
  const row = await db
    .selectFrom('webhook_attempts')
    .select((attempts) => attempts.fn.max('number').as('number'))
    .where('event_id', '=', eventId)
    .where('endpoint_id', '=', endpointId)
    .executeTakeFirst()
  return row?.number ?? 0
}
