import type { AttemptEnd, AttemptPostponement } from '@penstock/ports/deliveries.ts'
import { lockEndpoints } from './endpoints.ts'
import { padIds, type WebhookDb } from './tables.ts'

/**
 * Makes attempts in progress pending again. The deletion of an endpoint ends its pending attempts only, so the endpoints are
 * locked first.
 * @returns the ends of attempts whose endpoint is deleted
 */
export async function postponeAttempts(
  db: WebhookDb,
  postponements: readonly AttemptPostponement[],
): Promise<readonly AttemptEnd[]> {
  if (postponements.length === 0) return []
  const endpoints = await findEndpointIds(
    db,
    postponements.map(({ attemptId }) => attemptId),
  )
  const present = new Set(await lockEndpoints(db, [...new Set(endpoints.values())]))
  const isPresent = ({ attemptId }: AttemptPostponement): boolean => present.has(endpoints.get(attemptId) ?? '')
  for (const [dueAt, group] of Map.groupBy(postponements.filter(isPresent), (postponement) => postponement.dueAt))
    await db
      .updateTable('webhook_attempts')
      .set({ begun_at: null, due_at: dueAt })
      .where('id', 'in', padIds(group.map(({ attemptId }) => attemptId)))
      .where('begun_at', 'is not', null)
      .where('ended_at', 'is', null)
      .execute()
  return postponements
    .filter((postponement) => !isPresent(postponement))
    .map(({ attemptId, error }) => ({
      attemptId,
      status: 'FAILED',
      httpStatus: null,
      error,
      isReceiversFault: false,
      next: null,
    }))
}

/** @returns the endpoints of the attempts, by the id of the attempt */
async function findEndpointIds(db: WebhookDb, attemptIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('webhook_attempts')
    .select(['id', 'endpoint_id'])
    .where('id', 'in', padIds(attemptIds))
    .execute()
  return new Map(rows.map(({ id, endpoint_id }) => [id, endpoint_id]))
}
