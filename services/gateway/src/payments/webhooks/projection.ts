import { type EndpointFact, endpointContract } from '@penstock/contracts/payments/endpoint.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { requestErasure } from '../views/request-erasure.ts'
import type { ErasureTables } from '../views/tables.ts'
import { type EndpointTables, withEndpointTablesIn } from './tables.ts'

type EndpointChange = Exclude<EndpointFact, { readonly type: 'EndpointCreated' }>
type Records = Pick<EndpointTables['gateway_endpoints'], 'url_record' | 'secret_records'>

/** Applies the facts of webhook endpoints to their table. */
export async function applyToEndpoints(trx: Transaction<object>, event: Event): Promise<void> {
  if (event.category !== endpointContract.category) return
  const db = withEndpointTablesIn(trx)
  const { aggregateId: id, at } = event
  const fact = event.fact as EndpointFact // the runtime checked the fact against the contract
  if (fact.type === 'EndpointCreated') {
    const { environmentId, teamId, urlRecord, secretRecord, filters } = fact.data
    await db
      .insertInto('gateway_endpoints')
      .values({
        id,
        team_id: teamId,
        environment_id: environmentId,
        url_record: urlRecord,
        secret_records: JSON.stringify([secretRecord]),
        filters: JSON.stringify(filters),
        active: 1,
        deactivated_at: null,
        deactivation_reason: null,
        previous_secret_valid_until: null,
        deleted: 0,
        created_at: at,
        updated_at: at,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return
  }
  const before = await db
    .selectFrom('gateway_endpoints')
    .select(['url_record', 'secret_records'])
    .where('id', '=', id)
    .executeTakeFirst()
  const changes = before && findChanges(fact, at, before)
  if (!changes) return
  // The request deletes these records too, but its gateway may crash before it does.
  for (const record of listUnusedRecords(fact, before))
    await requestErasure(trx.$extendTables<ErasureTables>(), { id: record, kind: 'record', at })
  await db
    .updateTable('gateway_endpoints')
    .set({ ...changes, updated_at: at })
    .where('id', '=', id)
    .execute()
}

/** Lists the records that an endpoint no longer uses after a fact. */
function listUnusedRecords({ type, data }: EndpointChange, { url_record, secret_records }: Records): readonly string[] {
  if (type === 'EndpointDeleted') return [url_record, ...(JSON.parse(secret_records) as string[])] // written below
  return type === 'EndpointChanged' && data.urlRecord !== url_record ? [url_record] : []
}

function findChanges(
  { type, data }: EndpointChange,
  at: number,
  before: Records,
): Partial<EndpointTables['gateway_endpoints']> | undefined {
  switch (type) {
    case 'EndpointChanged':
      return { url_record: data.urlRecord, filters: JSON.stringify(data.filters) }
    case 'EndpointPaused':
      return { active: 0 }
    case 'EndpointResumed':
      return { active: 1, deactivated_at: null, deactivation_reason: null }
    case 'EndpointDeactivated':
      return { active: 0, deactivated_at: at, deactivation_reason: data.reason }
    case 'SecretRotated':
      return {
        // The projection wrote the list.
        secret_records: JSON.stringify([data.secretRecord, ...(JSON.parse(before.secret_records) as string[])]),
        previous_secret_valid_until: data.previousValidUntil,
      }
    case 'EndpointDeleted':
      return { active: 0, deleted: 1 }
    case 'RedeliveryRequested':
    case 'TestRequested':
      return undefined
  }
}
