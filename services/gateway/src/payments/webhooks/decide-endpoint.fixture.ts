import type { EndpointCommand } from '@penstock/contracts/payments/endpoint.ts'
import type { Views } from '@penstock/ports/views.ts'
import assert from 'node:assert/strict'
import { type FactInput, NOW } from '../../gateway-harness.fixture.ts'
import { withEndpointTables } from './tables.ts'

/** The end of the secret before the newest one. */
export const OVERLAP_END = NOW + 86_400_000

/** @returns the facts with which the payments service answers a command, from the endpoint in the read model */
export async function decideEndpoint(
  views: Pick<Views, 'db'>,
  id: string,
  { type, data }: EndpointCommand,
): Promise<readonly FactInput[]> {
  switch (type) {
    case 'CreateEndpoint':
      return [{ type: 'EndpointCreated', data }]
    case 'ChangeEndpoint':
      return changeEndpoint(views, id, data)
    case 'RotateSecret':
      return [{ type: 'SecretRotated', data: { ...data, previousValidUntil: OVERLAP_END } }]
    case 'RequestRedelivery':
      return [{ type: 'RedeliveryRequested', data }]
    case 'RequestTest':
      return [{ type: 'TestRequested', data }]
    case 'DeleteEndpoint':
      return [{ type: 'EndpointDeleted', data }]
    case 'DeactivateEndpoint':
      return assert.fail('The gateway deactivates no endpoint.')
  }
}

async function changeEndpoint(
  views: Pick<Views, 'db'>,
  id: string,
  { urlRecord, filters, active }: Extract<EndpointCommand, { readonly type: 'ChangeEndpoint' }>['data'],
): Promise<readonly FactInput[]> {
  const before = await withEndpointTables(views)
    .selectFrom('gateway_endpoints')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const [oldFilters, wasActive] = [JSON.parse(before.filters) as string[], before.active === 1] // written by the projection
  const after = { urlRecord: urlRecord ?? before.url_record, filters: filters ?? oldFilters }
  const isSame = after.urlRecord === before.url_record && after.filters.join() === oldFilters.join()
  return [
    ...(isSame ? [] : [{ type: 'EndpointChanged', data: after }]),
    ...(active === true && !wasActive ? [{ type: 'EndpointResumed', data: {} }] : []),
    ...(active === false && wasActive ? [{ type: 'EndpointPaused', data: {} }] : []),
  ]
}
