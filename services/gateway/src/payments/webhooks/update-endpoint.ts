import { command } from '@penstock/kernel/process.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import type { WebhookEndpointMutationsUpdateArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { parseEventFilters, storeUrl } from './endpoint-input.ts'
import { requireEndpoint } from './endpoint-read.ts'
import { toEndpointRecord } from './endpoint-record.ts'
import { sendWithRecords } from './send-with-records.ts'

/** Changes the URL or the filters of an endpoint, and switches it off or on. */
export const updateEndpoint = mutation({
  path: 'payment.webhook_endpoint.update',
  limit: paymentsLimit,
  access: permitted('WEBHOOKS', 'WRITE'),
  input: ({ input }: WebhookEndpointMutationsUpdateArgs) => ({
    id: parseId(input.id),
    url: input.url ?? null,
    filters: input.event_filters ? parseEventFilters(input.event_filters) : null,
    active: input.active ?? null,
  }),
  run: async ({ id, url, filters, active }, { gateway, caller }) => {
    requireUnscoped(caller)
    const before = await requireEndpoint(gateway.views, caller, id)
    const urlRecord = url === null ? null : await storeUrl(gateway, url)
    const data = { urlRecord, filters, active }
    const change = command<EndpointTarget>('endpoint', id, { type: 'ChangeEndpoint', data })
    await sendWithRecords(gateway, change, urlRecord === null ? [] : [urlRecord])
    if (urlRecord !== null) await gateway.records.delete(before.url_record)
    return toEndpointRecord(gateway, await requireEndpoint(gateway.views, caller, id))
  },
})
