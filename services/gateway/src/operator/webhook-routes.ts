import { command, type AddressedCommand } from '@penstock/kernel/process.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import type { DeliveryLog, LoggedAttempt, LoggedEvent } from '@penstock/ports/deliveries.ts'
import { Router } from 'express'
import { z } from 'zod'
import { OperatorError, parseEventId, parseOperatorBody, respondWithJson } from './http.ts'

export type WebhookPorts = {
  readonly log: DeliveryLog
  readonly hasEndpoint: (environmentId: string, endpointId: string) => Promise<boolean>
  readonly createId: () => string
  /** Sends a command, and resolves when the read models contain its result. */
  readonly sendCommand: (command: AddressedCommand) => Promise<void>
}

const MAX_LISTED = 50

const uuid = z.uuid('a UUID').toLowerCase()
const listQuery = z.strictObject({
  environment: uuid,
  endpoint: uuid.optional(),
  transaction: uuid.optional(),
  type: z
    .string()
    .max(50)
    .regex(/^[\w.]*$/, 'an event type')
    .optional(),
})
const redeliverBody = z.strictObject({ endpoint: uuid })

/** Creates the routes that list and show webhook events of all teams, without their bodies, and deliver an event again. */
export function createWebhookRouter({ log, hasEndpoint, createId, sendCommand }: WebhookPorts): Router {
  const router = Router()
  const requireEvent = async (id: string): Promise<LoggedEvent> => {
    const event = await log.findEvent(id)
    if (!event) throw new OperatorError(404, 'There is no webhook event with this id.')
    return event
  }
  router.get(
    '/',
    respondWithJson(async ({ query }) => {
      const { environment, endpoint, transaction, type } = parseOperatorBody(listQuery, query)
      const { totalCount, events } = await log.listEvents({
        environmentId: environment,
        ...(endpoint !== undefined && { endpointId: endpoint }),
        ...(transaction !== undefined && { transactionId: transaction }),
        ...(type !== undefined && { type }),
        limit: MAX_LISTED,
        offset: 0,
      })
      const attempts = await log.listAttempts(events.map(({ id }) => id))
      return { total: totalCount, events: events.map((event) => toEntry(event, attempts)) }
    }),
  )
  router.get(
    '/:id',
    respondWithJson(async ({ params }) => {
      const event = await requireEvent(parseEventId(params))
      const attempts = await log.listAttempts([event.id])
      return { ...toEntry(event, attempts), environment: event.environmentId, attempts: attempts.map(toAttemptEntry) }
    }),
  )
  router.post(
    '/:id/redeliver',
    respondWithJson(async ({ params, body }) => {
      const event = await requireEvent(parseEventId(params))
      if (event.body === null) throw new OperatorError(422, 'The body of this event was deleted, so it cannot be sent again.')
      const { endpoint } = parseOperatorBody(redeliverBody, body)
      if (!(await hasEndpoint(event.environmentId, endpoint)))
        throw new OperatorError(404, 'The environment of this event has no such endpoint.')
      const data = { eventId: event.id, attemptId: createId() }
      await sendCommand(command<EndpointTarget>('endpoint', endpoint, { type: 'RequestRedelivery', data }))
      return { event: event.id, endpoint, attempt: data.attemptId }
    }),
  )
  return router
}

function toEntry({ id, type, transactionId, createdAt }: LoggedEvent, attempts: readonly LoggedAttempt[]) {
  const own = attempts.filter(({ eventId }) => eventId === id)
  const countOf = (status: LoggedAttempt['status']): number => own.filter((attempt) => attempt.status === status).length
  return {
    id,
    type,
    transaction: transactionId,
    created_at: isoTime(createdAt),
    delivered: countOf('SUCCESS'),
    failed: countOf('FAILED'),
    waiting: countOf('PENDING') + countOf('IN_PROGRESS'),
  }
}

const toAttemptEntry = ({ id, endpointId, number, status, httpStatus, error, nextAttemptAt, updatedAt }: LoggedAttempt) => ({
  id,
  endpoint: endpointId,
  number,
  status,
  http_status: httpStatus,
  error,
  due_at: nextAttemptAt === null ? null : isoTime(nextAttemptAt),
  updated_at: isoTime(updatedAt),
})
