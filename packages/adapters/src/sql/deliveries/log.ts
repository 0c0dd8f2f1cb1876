import type { DeliveryLog, EventQuery, LoggedAttempt, LoggedEvent } from '@penstock/ports/deliveries.ts'
import { expressionBuilder } from 'kysely'
import { type AttemptRow, isFirst, type WebhookDb, type WebhookTables } from './tables.ts'

type EventRow = WebhookTables['webhook_events']

export const createDeliveryLog = (db: WebhookDb): DeliveryLog => ({
  async findEvent(id) {
    const row = await db
      .selectFrom('webhook_events')
      .selectAll()
      .where((event) => event.or([event('id', '=', id), event('envelope_id', '=', id)]))
      .executeTakeFirst()
    return row && toLoggedEvent(row)
  },
  async listEvents(query) {
    const { limit, offset, endpointId } = query
    const { count, list } = endpointId === undefined ? selectEvents(db, query) : selectEventsOf(db, query, endpointId)
    const { total } = await count.executeTakeFirstOrThrow()
    const rows = offset >= total ? [] : await list.limit(limit).offset(offset).execute()
    return { totalCount: total, events: rows.map(toLoggedEvent) }
  },
  async listAttempts(eventIds) {
    if (eventIds.length === 0) return []
    const rows = await db
      .selectFrom('webhook_attempts as attempt')
      .leftJoin('webhook_endpoints as endpoint', 'endpoint.id', 'attempt.endpoint_id')
      .selectAll('attempt')
      .select('endpoint.active')
      .where('attempt.event_id', 'in', eventIds)
      .orderBy('attempt.created_at')
      .orderBy('attempt.number')
      .orderBy('attempt.id')
      .execute()
    return rows.map(toLoggedAttempt)
  },
})

const toLoggedEvent = (row: EventRow): LoggedEvent => ({
  id: row.id,
  envelopeId: row.envelope_id,
  environmentId: row.environment_id,
  walletId: row.wallet_id,
  transactionId: row.transaction_id,
  type: row.type,
  body: row.body,
  createdAt: row.created_at,
})

function toLoggedAttempt(row: AttemptRow & { readonly active: number | null }): LoggedAttempt {
  const status = row.status ?? (row.begun_at === null ? 'PENDING' : 'IN_PROGRESS')
  return {
    id: row.id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    number: row.number,
    status,
    httpStatus: row.http_status,
    error: row.error,
    nextAttemptAt: status === 'PENDING' && row.active === 1 ? row.due_at : null,
    createdAt: row.created_at,
    updatedAt: row.ended_at ?? row.begun_at ?? row.created_at,
  }
}

function selectEvents(db: WebhookDb, query: EventQuery) {
  const selected = db.selectFrom('webhook_events as event').where(matchEvent(query))
  return {
    count: selected.select((event) => event.fn.countAll<number>().as('total')),
    list: selected.selectAll('event').orderBy('event.created_at', 'desc').orderBy('event.id', 'desc'),
  }
}

/** Selects events by the first attempts at an endpoint, so that a list of few events does not read those of other endpoints. */
function selectEventsOf(db: WebhookDb, query: EventQuery, endpointId: string) {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query
  const selected = db
    .selectFrom('webhook_attempts as attempt')
    .innerJoin('webhook_events as event', 'event.id', 'attempt.event_id')
    .where(isFirst)
    .where('attempt.endpoint_id', '=', endpointId)
    .where('attempt.event_created_at', '>=', from)
    .where('attempt.event_created_at', '<', to)
    .where(matchEvent(query))
  return {
    count: selected.select((event) => event.fn.countAll<number>().as('total')),
    list: selected.selectAll('event').orderBy('attempt.event_created_at', 'desc').orderBy('attempt.event_id', 'desc'),
  }
}

function matchEvent({ environmentId, walletId, transactionId, type, from, to }: EventQuery) {
  const event = expressionBuilder<{ event: EventRow }, 'event'>()
  return event.and([
    event('event.environment_id', '=', environmentId),
    ...(walletId === undefined ? [] : [event('event.wallet_id', '=', walletId)]),
    ...(transactionId === undefined ? [] : [event('event.transaction_id', '=', transactionId)]),
    ...(type === undefined ? [] : [event('event.type', '=', type)]),
    ...(from === undefined ? [] : [event('event.created_at', '>=', from)]),
    ...(to === undefined ? [] : [event('event.created_at', '<', to)]),
  ])
}
