import type { Attempt, AttemptOutcome, Deliveries, DueEndpoint, DueQuery, InProgressQuery } from '@penstock/ports/deliveries.ts'
import { type RawBuilder, sql } from 'kysely'
import { endInTransaction } from './end.ts'
import { parseSecrets } from './endpoints.ts'
import { type AttemptRow, padIds, type WebhookDb, type WebhookTables } from './tables.ts'

export async function findDue(db: WebhookDb, { shards, now, after, except, max }: DueQuery): Promise<readonly DueEndpoint[]> {
  if (shards.length === 0) return []
  const { rows } = await selectNext({ shards, except, after }, sql`due_at <= ${now} order by id limit ${max}`).execute(db)
  return rows.map(({ id, url_record, secrets, failing_since }) => ({
    id,
    urlRecord: url_record,
    secrets: parseSecrets(secrets),
    failingSince: failing_since,
  }))
}

export async function findNextDueAt(db: WebhookDb, shards: readonly number[], except: readonly string[]): Promise<number | null> {
  if (shards.length === 0) return null
  const { rows } = await selectNext({ shards, except }, sql`due_at is not null order by due_at limit 1`).execute(db)
  return rows[0]?.due_at ?? null
}

type NextRow = Pick<WebhookTables['webhook_endpoints'], 'id' | 'url_record' | 'secrets' | 'failing_since'> & {
  readonly due_at: number
}

type NextQuery = Pick<DueQuery, 'shards' | 'except'> & Partial<Pick<DueQuery, 'after'>>

/**
 * The endpoints with open attempts. Each step of the recursion seeks the next endpoint in the index of these attempts. So the
 * cost grows neither with the attempts nor with idle endpoints.
 */
const waitingEndpoints = (after: string) => sql`waiting(id) as (
  select min(endpoint_id) from webhook_attempts where ended_at is null and endpoint_id > ${after}
  union all
  select (select min(endpoint_id) from webhook_attempts where ended_at is null and endpoint_id > waiting.id)
  from waiting where waiting.id is not null
)`

/**
 * Selects active endpoints with the time of their next attempt. As text, because the builder takes longer to write this query
 * than the database takes to run it.
 */
const selectNext = ({ shards, except, after = '' }: NextQuery, condition: RawBuilder<unknown>) => sql<NextRow>`
  with recursive ${waitingEndpoints(after)}, next as materialized (
    select endpoint.id, url_record, secrets, failing_since, (
      select min(attempt.due_at) from webhook_attempts attempt
      where attempt.endpoint_id = endpoint.id and attempt.ended_at is null and attempt.begun_at is null
    ) as due_at
    from waiting join webhook_endpoints endpoint on endpoint.id = waiting.id
    where endpoint.active = 1 and endpoint.shard in (${sql.join(shards)})
      ${except.length > 0 ? sql`and endpoint.id not in (${sql.join(padIds(except))})` : sql``}
  )
  select * from next where ${condition}`

export const beginAttempts = (
  db: WebhookDb,
  requests: Parameters<Deliveries['begin']>[0],
  now: number,
  ended: readonly AttemptOutcome[] = [],
): Promise<readonly Attempt[]> =>
  db.transaction().execute(async (trx) => {
    await endInTransaction(trx, ended, now)
    const due = selectDue(requests, now)
    if (!due) return []
    // The second condition lets another call find an attempt begun that it has selected too.
    const begun = await trx
      .updateTable('webhook_attempts')
      .set({ begun_at: now })
      .where('id', 'in', due)
      .where('begun_at', 'is', null)
      .returning(['id', 'event_id', 'endpoint_id', 'number', 'attempts_left', 'due_at'])
      .execute()
    return toAttempts(trx, begun)
  })

/** Selects the ids of the attempts that may begin: of each endpoint the first, then the second, up to its number. */
function selectDue(requests: Parameters<Deliveries['begin']>[0], now: number) {
  const most = Math.max(0, ...requests.map(({ count }) => count))
  const { length } = padIds(requests.map(({ endpointId }) => endpointId))
  const selections = Array.from({ length: most }, (_, offset) => {
    const endpointIds = requests.filter(({ count }) => count > offset).map(({ endpointId }) => endpointId)
    return selectNth(padIds(endpointIds, length), offset, now)
  })
  return selections.length > 0 && sql<string>`(${sql.join(selections, sql` union all `)})`
}

/**
 * Selects the attempt of each endpoint that comes after `offset` others. As text, as in `selectNext`.
 */
const selectNth = (endpointIds: readonly string[], offset: number, now: number) => sql`
  select (
    select attempt.id from webhook_attempts attempt
    where attempt.endpoint_id = endpoint.id and attempt.ended_at is null and attempt.begun_at is null
      and attempt.due_at <= ${now} and ${isNextOfTransaction}
    order by attempt.due_at limit 1 offset ${sql.lit(offset)}
  ) from webhook_endpoints endpoint where endpoint.active = 1 and endpoint.id in (${sql.join(endpointIds)})`

/**
 * Holds unless an earlier event of the transaction has a first attempt at the endpoint that has not ended. Each subquery reads
 * one table, so that PostgreSQL has no choice among joins. It expects that few rows pass `is null` or `= 0`, and would compile
 * such a query to machine code, because of the many rows to read. It expects that a third of them passes `< 1`.
 */
const isNextOfTransaction = sql<boolean>`(
  select count(*) from webhook_events earlier
  where earlier.transaction_id = attempt.transaction_id and earlier.sequence < attempt.sequence and (
    select min(first.number) from webhook_attempts first
    where first.event_id = earlier.id and first.endpoint_id = attempt.endpoint_id and first.number = 1
      and first.ended_at is null
  ) is not null
) < 1`

type BegunRow = Pick<AttemptRow, 'id' | 'event_id' | 'endpoint_id' | 'number' | 'attempts_left' | 'due_at'>

async function toAttempts(db: WebhookDb, begun: readonly BegunRow[]): Promise<readonly Attempt[]> {
  if (begun.length === 0) return []
  const rows = await db
    .selectFrom('webhook_events')
    .select(['id', 'envelope_id', 'environment_id', 'type', 'body'])
    .where('id', 'in', padIds([...new Set(begun.map(({ event_id }) => event_id))]))
    .execute()
  const events = new Map(
    rows.flatMap(({ id, envelope_id, environment_id, type, body }) =>
      body === null ? [] : [[id, { id, envelopeId: envelope_id, environmentId: environment_id, type, body }] as const],
    ),
  )
  const attempts: Attempt[] = []
  const withoutBody: string[] = []
  for (const { id, event_id, endpoint_id, number, attempts_left } of begun.toSorted((a, b) => a.due_at - b.due_at)) {
    const event = events.get(event_id)
    if (event) attempts.push({ id, endpointId: endpoint_id, event, number, maxAttempts: number + attempts_left })
    else withoutBody.push(id)
  }
  // A body may be deleted while an attempt of its event is in progress or being planned.
  if (withoutBody.length > 0) await db.deleteFrom('webhook_attempts').where('id', 'in', withoutBody).execute()
  return attempts
}

export async function findInProgress(
  db: WebhookDb,
  { shard, begunBefore, except }: InProgressQuery,
): ReturnType<Deliveries['findInProgress']> {
  const rows = await db
    .selectFrom('webhook_attempts')
    .select(['id', 'number', 'attempts_left'])
    .where('begun_at', 'is not', null)
    .where('ended_at', 'is', null)
    .where('shard', '=', shard)
    .where('begun_at', '<', begunBefore)
    .$if(except.length > 0, (query) => query.where('id', 'not in', except))
    .execute()
  return rows.map(({ id, number, attempts_left }) => ({ id, number, maxAttempts: number + attempts_left }))
}

export async function countAttempts(db: WebhookDb, now: number): ReturnType<Deliveries['count']> {
  const { rows } = await sql<{ due: number; oldest_due_at: number | null }>`
    with recursive ${waitingEndpoints('')}
    select count(*) as due, min(attempt.due_at) as oldest_due_at
    from waiting join webhook_endpoints endpoint on endpoint.id = waiting.id
      join webhook_attempts attempt on attempt.endpoint_id = endpoint.id
    where endpoint.active = 1 and attempt.ended_at is null and attempt.begun_at is null and attempt.due_at <= ${now}`.execute(db)
  const { inProgress } = await db
    .selectFrom('webhook_attempts')
    .select((count) => count.fn.countAll<number>().as('inProgress'))
    .where('begun_at', 'is not', null)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { due: rows[0]?.due ?? 0, inProgress, oldestDueAt: rows[0]?.oldest_due_at ?? null }
}
