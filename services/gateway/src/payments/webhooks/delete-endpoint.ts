import { command } from '@penstock/kernel/process.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import { sendCommand } from '../../commands/commands.ts'
import type { WebhookEndpointMutationsDeleteArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireEndpoint } from './endpoint-read.ts'

/** Deletes an endpoint with its URL and its secrets, and ends its deliveries. */
export const deleteEndpoint = mutation({
  path: 'payment.webhook_endpoint.delete',
  limit: paymentsLimit,
  access: permitted('WEBHOOKS', 'WRITE'),
  input: ({ id }: WebhookEndpointMutationsDeleteArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    const { url_record, secret_records } = await requireEndpoint(gateway.views, caller, id)
    await sendCommand(gateway, command<EndpointTarget>('endpoint', id, { type: 'DeleteEndpoint', data: {} }))
    const secretRecords = JSON.parse(secret_records) as string[] // written by the projection
    await Promise.all([url_record, ...secretRecords].map((record) => gateway.records.delete(record)))
    return true
  },
})
