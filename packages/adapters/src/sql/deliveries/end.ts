import type { AttemptEnd, AttemptOutcome } from '@penstock/ports/deliveries.ts'
import { lockEndpoints } from './endpoints.ts'
import { postponeAttempts } from './postpone.ts'
import { createAttempt } from './record.ts'
import { type AttemptRow, padIds, type WebhookDb } from './tables.ts'

type EndedRow = Pick<AttemptRow, 'id' | 'event_id' | 'endpoint_id' | 'attempts_left' | 'sequence' | 'event_created_at'>
type EndedAttempt = EndedRow & { readonly outcome: AttemptEnd }

export async function endAttempts(db: WebhookDb, outcomes: readonly AttemptOutcome[], now: number): Promise<void> {
  if (outcomes.length > 0) await db.transaction().execute((trx) => endInTransaction(trx, outcomes, now))
}

export async function endInTransaction(trx: WebhookDb, outcomes: readonly AttemptOutcome[], now: number): Promise<void> {
  if (outcomes.length === 0) return
  const ends = outcomes.filter((outcome) => outcome.status !== 'POSTPONED')
  const ended = await updateEnded(trx, ends, now)
  const failing = await updateFailingSince(trx, ended, now)
  await planNext(
    trx,
    ended.filter(({ endpoint_id }) => failing.has(endpoint_id)),
    now,
  )
  const withoutEndpoint = await postponeAttempts(
    trx,
    outcomes.filter((outcome) => outcome.status === 'POSTPONED'),
  )
  await updateEnded(trx, withoutEndpoint, now)
}

/** @returns the attempts that were in progress, in the order of their outcomes */
async function updateEnded(db: WebhookDb, outcomes: readonly AttemptEnd[], now: number): Promise<readonly EndedAttempt[]> {
  // Most outcomes are equal, so one statement ends many attempts.
  const groups = Map.groupBy(outcomes, ({ status, httpStatus, error }) => JSON.stringify([status, httpStatus, error]))
  const rows = new Map<string, EndedRow>()
  for (const [first, ...others] of groups.values()) {
    if (!first) continue
    const { status, httpStatus, error } = first
    const ended = await db
      .updateTable('webhook_attempts')
      .set({ ended_at: now, status, http_status: httpStatus, error })
      .where('id', 'in', padIds([first, ...others].map(({ attemptId }) => attemptId)))
      .where('begun_at', 'is not', null)
      .where('ended_at', 'is', null)
      .returning(['id', 'event_id', 'endpoint_id', 'attempts_left', 'sequence', 'event_created_at'])
      .execute()
    for (const row of ended) rows.set(row.id, row)
  }
  return outcomes.flatMap((outcome) => {
    const row = rows.get(outcome.attemptId)
    return row ? [{ ...row, outcome }] : []
  })
}

/** @returns the endpoints with a failure, without the deleted ones; their rows are locked */
async function updateFailingSince(db: WebhookDb, ended: readonly EndedAttempt[], now: number): Promise<ReadonlySet<string>> {
  const outcomes = Map.groupBy(ended, ({ endpoint_id }) => endpoint_id)
  const select = (condition: (outcomes: readonly AttemptEnd[]) => boolean): readonly string[] =>
    [...outcomes].flatMap(([id, attempts]) => (condition(attempts.map(({ outcome }) => outcome)) ? [id] : []))
  const setNull = async (endpointIds: readonly string[]): Promise<void> => {
    if (endpointIds.length === 0) return
    await db
      .updateTable('webhook_endpoints')
      .set({ failing_since: null })
      .where('id', 'in', padIds(endpointIds))
      .where('failing_since', 'is not', null)
      .execute()
  }
  await setNull(select((all) => all.some(isSuccess)))
  const failing = select((all) => all.some(isReceiversFault))
  const present = failing.length === 0 ? [] : await setFailing(db, failing, now)
  await setNull(select((all) => all.some(isReceiversFault) && all.findLast(isReceivers)?.status === 'SUCCESS'))
  const others = select((all) => all.some(({ status }) => status === 'FAILED') && !all.some(isReceiversFault))
  return new Set([...present, ...(await lockEndpoints(db, others))])
}

const isSuccess = ({ status }: AttemptEnd): boolean => status === 'SUCCESS'
const isReceiversFault = (outcome: AttemptEnd): boolean => outcome.isReceiversFault
/** Whether the receiver determined the outcome. */
const isReceivers = (outcome: AttemptEnd): boolean => isSuccess(outcome) || isReceiversFault(outcome)

async function setFailing(db: WebhookDb, endpointIds: readonly string[], now: number): Promise<readonly string[]> {
  const rows = await db
    .updateTable('webhook_endpoints')
    .set((endpoint) => ({ failing_since: endpoint.fn.coalesce('failing_since', endpoint.val(now)) }))
    .where('id', 'in', padIds(endpointIds))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Inserts the next attempts of events that still have a body. */
async function planNext(db: WebhookDb, ended: readonly EndedAttempt[], now: number): Promise<void> {
  const planned = ended.flatMap(({ outcome: { next }, ...row }) => (next ? [{ ...row, next }] : []))
  if (planned.length === 0) return
  const numbers = await db
    .selectFrom('webhook_attempts as attempt')
    .innerJoin('webhook_events as event', 'event.id', 'attempt.event_id')
    .select((attempts) => ['attempt.event_id', 'attempt.endpoint_id', attempts.fn.max('attempt.number').as('number')])
    .where(
      'attempt.event_id',
      'in',
      planned.map(({ event_id }) => event_id),
    )
    .where('event.body', 'is not', null)
    .groupBy(['attempt.event_id', 'attempt.endpoint_id'])
    .execute()
  const lastNumbers = new Map(numbers.map(({ event_id, endpoint_id, number }) => [`${event_id} ${endpoint_id}`, number]))
  const rows = planned.flatMap(({ event_id, endpoint_id, attempts_left, sequence, event_created_at, next }) => {
    const last = lastNumbers.get(`${event_id} ${endpoint_id}`)
    if (last === undefined) return []
    const attempt = createAttempt({
      id: next.attemptId,
      event_id,
      endpoint_id,
      number: last + 1,
      attempts_left: attempts_left - 1,
      due_at: next.at,
      transaction_id: null,
      sequence,
      event_created_at,
      created_at: now,
    })
    return [attempt]
  })
  if (rows.length > 0) await db.insertInto('webhook_attempts').values(rows).execute()
}
