import { isoTime } from '@penstock/kernel/time.ts'
import type { LoggedAttempt, LoggedEvent } from '@penstock/ports/deliveries.ts'
import type { Gateway } from '../../ports.ts'

type LogPort = Pick<Gateway, 'deliveryLog'>

/** Returns an attempt, or the attempt that is due. */
const toDeliveryRecord = (attempt: LoggedAttempt) => ({
  id: attempt.id,
  webhook_event_id: attempt.eventId,
  webhook_endpoint_id: attempt.endpointId,
  attempt_number: attempt.number,
  status: attempt.status,
  http_status: attempt.httpStatus,
  error_message: attempt.error,
  next_attempt_at: attempt.nextAttemptAt === null ? null : isoTime(attempt.nextAttemptAt),
  created_at: isoTime(attempt.createdAt),
  updated_at: isoTime(attempt.updatedAt),
})

/** Returns the events of a list. Their attempts are read together, and only if a document requests them. */
export function toSimpleEventRecords({ deliveryLog }: LogPort, events: readonly LoggedEvent[]) {
  let attempts: Promise<readonly LoggedAttempt[]> | undefined
  const listAttempts = () => (attempts ??= deliveryLog.listAttempts(events.map(({ id }) => id)))
  return events.map(({ id, type, walletId, transactionId, createdAt }) => ({
    id,
    event_type: type,
    wallet_id: walletId,
    transaction_id: transactionId,
    created_at: isoTime(createdAt),
    deliveries: async () => (await listAttempts()).filter(({ eventId }) => eventId === id).map(toDeliveryRecord),
  }))
}

/** Returns an event with its body. */
export const toEventRecord = ({ deliveryLog }: LogPort, event: LoggedEvent) => ({
  id: event.id,
  event_type: event.type,
  environment_id: event.environmentId,
  wallet_id: event.walletId,
  transaction_id: event.transactionId,
  idempotency_key: event.envelopeId,
  payload: event.body,
  created_at: isoTime(event.createdAt),
  deliveries: async () => (await deliveryLog.listAttempts([event.id])).map(toDeliveryRecord),
})
