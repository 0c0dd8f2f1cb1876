import { command } from '@penstock/kernel/process.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import { sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import type { WebhookEndpointMutationsTestArgs, WebhookEventMutationsRedeliverArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireEndpoint, type EndpointRow } from './endpoint-read.ts'
import { requireEvent } from './get-events.ts'

const access = permitted('WEBHOOKS', 'WRITE')

/** Sends one `webhook.test` to an endpoint. */
export const testEndpoint = mutation({
  path: 'payment.webhook_endpoint.test',
  limit: paymentsLimit,
  access,
  input: ({ id }: WebhookEndpointMutationsTestArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    const endpoint = await requireEndpoint(gateway.views, caller, id)
    const data = { eventId: gateway.ids.uuid(), attemptId: gateway.ids.uuid() }
    await sendCommand(gateway, command<EndpointTarget>('endpoint', id, { type: 'RequestTest', data }))
    return toRequestedDelivery(gateway, endpoint, data, 1)
  },
})

/** Sends an event to an endpoint of its environment once more. */
export const redeliverEvent = mutation({
  path: 'payment.webhook_event.redeliver',
  limit: paymentsLimit,
  access,
  input: ({ id, endpoint_id }: WebhookEventMutationsRedeliverArgs) => ({ id, endpointId: parseId(endpoint_id) }),
  run: async ({ id, endpointId }, { gateway, caller }) => {
    requireUnscoped(caller)
    const event = await requireEvent(gateway, caller, id)
    const endpoint = await requireEndpoint(gateway.views, caller, endpointId)
    if (endpoint.environment_id !== event.environmentId) throw invalidInput('Webhook endpoint not found')
    if (event.body === null) throw invalidInput('The texts of this event were deleted, so it cannot be sent again')
    const attempts = await gateway.deliveryLog.listAttempts([event.id])
    const numbers = attempts.filter((attempt) => attempt.endpointId === endpointId).map(({ number }) => number)
    const data = { eventId: event.id, attemptId: gateway.ids.uuid() }
    await sendCommand(gateway, command<EndpointTarget>('endpoint', endpointId, { type: 'RequestRedelivery', data }))
    return toRequestedDelivery(gateway, endpoint, data, Math.max(0, ...numbers) + 1)
  },
})

/** Returns the attempt that was requested. The queue shows it a moment later. */
function toRequestedDelivery(
  { clock }: Pick<Gateway, 'clock'>,
  { id, active }: EndpointRow,
  { eventId, attemptId }: { readonly eventId: string; readonly attemptId: string },
  number: number,
) {
  const now = isoTime(clock.now())
  return {
    id: attemptId,
    webhook_event_id: eventId,
    webhook_endpoint_id: id,
    attempt_number: number,
    status: 'PENDING' as const,
    http_status: null,
    error_message: null,
    next_attempt_at: active === 1 ? now : null,
    created_at: now,
    updated_at: now,
  }
}
