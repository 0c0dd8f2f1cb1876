import { transactionEventTypes } from '@penstock/contracts/payments/lifecycle.ts'
import type {
  FindManyWebhookEndpointsListArgs,
  WebhookEndpointQueriesFindManyArgs,
  WebhookEndpointQueriesFindOneArgs,
} from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { Gateway } from '../../ports.ts'
import { query } from '../../use-case.ts'
import { permitted, type PaymentsCaller, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireOwnEnvironment } from '../read/environments.ts'
import { listEndpoints, requireEndpoint } from './endpoint-read.ts'
import { toEndpointRecord, toSimpleEndpointRecord } from './endpoint-record.ts'

const access = permitted('WEBHOOKS', 'READ')

export const getEndpoint = query({
  path: 'payment.webhook_endpoint.find_one',
  limit: paymentsLimit,
  access,
  input: ({ id }: WebhookEndpointQueriesFindOneArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    return toEndpointRecord(gateway, await requireEndpoint(gateway.views, caller, id))
  },
})

export const getEndpoints = query({
  path: 'payment.webhook_endpoint.find_many',
  limit: paymentsLimit,
  access,
  input: ({ input }: WebhookEndpointQueriesFindManyArgs) => ({
    page: parsePage(input?.page),
    environmentId: parseEnvironmentId(input?.environment_id),
  }),
  run: async ({ page, environmentId }, { gateway, caller }) => {
    requireUnscoped(caller)
    const listOf = async (id: string | undefined) => {
      await assertSeesEnvironment(gateway, caller, id)
      return listEndpoints(gateway.views, caller, page, id)
    }
    const { total, list } = await listOf(environmentId)
    return {
      ...describeList(`${caller.teamId}/webhook_endpoints`, page, { environmentId }),
      total_count: total,
      list: async ({ environment_id }: FindManyWebhookEndpointsListArgs) => {
        const otherId = parseEnvironmentId(environment_id)
        const rows = otherId === undefined ? list : (await listOf(otherId)).list
        return rows.map((row) => toSimpleEndpointRecord(gateway, row))
      },
    }
  },
})

export const getEventTypes = query({
  path: 'payment.webhook_endpoint.available_event_types',
  limit: paymentsLimit,
  access,
  input: () => undefined,
  run: (_, { caller }) => {
    requireUnscoped(caller)
    return Promise.resolve([...transactionEventTypes])
  },
})

const parseEnvironmentId = (id: string | null | undefined): string | undefined =>
  id === null || id === undefined ? undefined : parseId(id)

/** @throws the error for an unknown environment if the caller does not see it */
async function assertSeesEnvironment({ views }: Gateway, caller: PaymentsCaller, id: string | undefined): Promise<void> {
  if (id !== undefined) await requireOwnEnvironment(views, caller, id)
}
