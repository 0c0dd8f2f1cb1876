import { command } from '@penstock/kernel/process.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import type { WebhookEndpointMutationsRotateSecretArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { storeNewSecret } from './endpoint-input.ts'
import { requireEndpoint } from './endpoint-read.ts'
import { toEndpointRecord } from './endpoint-record.ts'
import { sendWithRecords } from './send-with-records.ts'

/** Gives an endpoint a new secret. Only this answer contains it. */
export const rotateSecret = mutation({
  path: 'payment.webhook_endpoint.rotate_secret',
  limit: paymentsLimit,
  access: permitted('WEBHOOKS', 'WRITE'),
  input: ({ id }: WebhookEndpointMutationsRotateSecretArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    await requireEndpoint(gateway.views, caller, id)
    const { record: secretRecord, secret } = await storeNewSecret(gateway)
    const rotate = command<EndpointTarget>('endpoint', id, { type: 'RotateSecret', data: { secretRecord } })
    await sendWithRecords(gateway, rotate, [secretRecord])
    return { id, secret, endpoint: toEndpointRecord(gateway, await requireEndpoint(gateway.views, caller, id)) }
  },
})
