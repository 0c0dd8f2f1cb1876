import type { Views } from '@penstock/ports/views.ts'
import { invalidInput } from '../../errors.ts'
import { countTotal, type ListPage, type Page } from '../../list-page.ts'
import type { PaymentsCaller } from '../access.ts'
import type { PaymentsTables } from '../views/tables.ts'
import { type EndpointTables, withEndpointTables } from './tables.ts'

type Db = Pick<Views, 'db'>
export type EndpointRow = EndpointTables['gateway_endpoints']

/** An endpoint ends with its environment. */
const selectEndpoints = (views: Db, { teamId, key }: PaymentsCaller) =>
  withEndpointTables(views)
    .$extendTables<PaymentsTables>()
    .selectFrom('gateway_endpoints as h')
    .innerJoin('gateway_environments as e', 'e.id', 'h.environment_id')
    .where('h.team_id', '=', teamId)
    .where('h.deleted', '=', 0)
    .where('e.deleted', '=', 0)
    .$if(key !== null, (query) => query.where('h.environment_id', '=', key?.environmentId ?? ''))

/** @throws the error for an unknown endpoint, also if the caller does not see the endpoint */
export async function requireEndpoint(views: Db, caller: PaymentsCaller, id: string): Promise<EndpointRow> {
  const endpoint = await selectEndpoints(views, caller).selectAll('h').where('h.id', '=', id).executeTakeFirst()
  if (!endpoint) throw invalidInput('Webhook endpoint not found')
  return endpoint
}

/** Whether an environment has this endpoint. For operators, who act for all teams. */
export const hasEndpoint = async (views: Db, environmentId: string, id: string): Promise<boolean> =>
  (await withEndpointTables(views)
    .selectFrom('gateway_endpoints')
    .select('id')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .where('deleted', '=', 0)
    .executeTakeFirst()) !== undefined

/** Whether an environment has so many endpoints or more. */
export const hasEndpoints = async (views: Db, environmentId: string, count: number): Promise<boolean> =>
  (await withEndpointTables(views)
    .selectFrom('gateway_endpoints')
    .select('id')
    .where('environment_id', '=', environmentId)
    .where('deleted', '=', 0)
    .limit(1)
    .offset(count - 1)
    .executeTakeFirst()) !== undefined

/** Lists the endpoints that the caller sees, newest first. @param environmentId undefined lists those of all environments */
export async function listEndpoints(
  views: Db,
  caller: PaymentsCaller,
  page: Page,
  environmentId: string | undefined,
): Promise<ListPage<EndpointRow>> {
  const endpoints = selectEndpoints(views, caller).$if(environmentId !== undefined, (query) =>
    query.where('h.environment_id', '=', environmentId ?? ''),
  )
  const list = await endpoints
    .selectAll('h')
    .orderBy('h.created_at', 'desc')
    .orderBy('h.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await countTotal(page, list.length, () =>
    endpoints.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list }
}
