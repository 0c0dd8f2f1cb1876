import { command } from '@penstock/kernel/process.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import type { WebhookEndpointMutationsCreateArgs } from '../../generated/schema-types.ts'
import { invalidInput } from '../../errors.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireOwnEnvironment } from '../read/environments.ts'
import { parseEventFilters, storeNewSecret, storeUrl } from './endpoint-input.ts'
import { hasEndpoints, requireEndpoint } from './endpoint-read.ts'
import { toEndpointRecord } from './endpoint-record.ts'
import { sendWithRecords } from './send-with-records.ts'

/** Each event of an environment is sent to all of its endpoints. */
const MAX_ENDPOINTS = 50

/** Creates an endpoint. Only this answer contains its secret. */
export const createEndpoint = mutation({
  path: 'payment.webhook_endpoint.create',
  limit: paymentsLimit,
  access: permitted('WEBHOOKS', 'WRITE'),
  input: ({ input }: WebhookEndpointMutationsCreateArgs) => ({
    environmentId: parseId(input.environment_id),
    url: input.url,
    filters: parseEventFilters(input.event_filters ?? []),
  }),
  run: async ({ environmentId, url, filters }, { gateway, caller }) => {
    requireUnscoped(caller)
    await requireOwnEnvironment(gateway.views, caller, environmentId)
    if (await hasEndpoints(gateway.views, environmentId, MAX_ENDPOINTS))
      throw invalidInput(`An environment has at most ${MAX_ENDPOINTS} webhook endpoints. Delete one first.`)
    const urlRecord = await storeUrl(gateway, url)
    const { record: secretRecord, secret } = await storeNewSecret(gateway)
    const id = gateway.ids.uuid()
    const data = { environmentId, teamId: caller.teamId, urlRecord, secretRecord, filters }
    const create = command<EndpointTarget>('endpoint', id, { type: 'CreateEndpoint', data })
    await sendWithRecords(gateway, create, [urlRecord, secretRecord])
    return { id, secret, endpoint: toEndpointRecord(gateway, await requireEndpoint(gateway.views, caller, id)) }
  },
})
