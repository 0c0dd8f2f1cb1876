import type { WebhookEndpointSettings } from '@penstock/ports/deliveries.ts'
import { padIds, shardOf, type WebhookDb, type WebhookTables } from './tables.ts'

type EndpointRow = WebhookTables['webhook_endpoints']

export async function storeEndpoint(db: WebhookDb, settings: WebhookEndpointSettings): Promise<void> {
  const { id, environmentId, urlRecord, secrets, filters, active } = settings
  const columns = {
    environment_id: environmentId,
    url_record: urlRecord,
    secrets: JSON.stringify(secrets),
    filters: JSON.stringify(filters),
    active: active ? 1 : 0,
  }
  await db
    .insertInto('webhook_endpoints')
    .values({ id, shard: shardOf(id), failing_since: null, ...columns })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(columns))
    .execute()
}

export async function findEndpoint(db: WebhookDb, id: string): Promise<WebhookEndpointSettings | undefined> {
  const row = await db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toSettings(row)
}

export async function findEndpoints(
  db: WebhookDb,
  environmentIds: readonly string[],
): Promise<readonly WebhookEndpointSettings[]> {
  if (environmentIds.length === 0) return []
  const rows = await db.selectFrom('webhook_endpoints').selectAll().where('environment_id', 'in', environmentIds).execute()
  return rows.map(toSettings)
}

/** Locks endpoints against their deletion until the end of the transaction. @returns those that are present */
export async function lockEndpoints(db: WebhookDb, endpointIds: readonly string[]): Promise<readonly string[]> {
  if (endpointIds.length === 0) return []
  const rows = await db
    .updateTable('webhook_endpoints')
    // SQLite has no `for update`.
    .set((endpoint) => ({ failing_since: endpoint.ref('failing_since') }))
    .where('id', 'in', padIds(endpointIds))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

// `storeEndpoint` wrote the JSON of these columns.
const toSettings = ({ id, environment_id, url_record, secrets, filters, active }: EndpointRow): WebhookEndpointSettings => ({
  id,
  environmentId: environment_id,
  urlRecord: url_record,
  secrets: parseSecrets(secrets),
  filters: JSON.parse(filters) as WebhookEndpointSettings['filters'],
  active: active === 1,
})

export const parseSecrets = (json: string): WebhookEndpointSettings['secrets'] =>
  JSON.parse(json) as WebhookEndpointSettings['secrets']
