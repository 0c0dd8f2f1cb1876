import { type ServiceKeyFact, serviceKeyContract } from '@penstock/contracts/payments/service-key.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { withServiceKeyTablesIn } from './tables.ts'

/** Applies the facts of service API keys to their table. */
export async function applyToServiceKeys(trx: Transaction<object>, event: Event): Promise<void> {
  if (event.category !== serviceKeyContract.category) return
  const db = withServiceKeyTablesIn(trx)
  const { aggregateId: id, at } = event
  const { type, data } = event.fact as ServiceKeyFact // the runtime checked the fact against the contract
  switch (type) {
    case 'KeyIssued':
      await db
        .insertInto('gateway_service_keys')
        .values({
          hash: data.keyHash,
          id,
          team_id: data.teamId,
          environment_id: data.environmentId,
          wallet_id: data.walletId,
          node_id: data.nodeId,
          prefix: data.prefix,
          suffix: data.suffix,
          name_record: data.nameRecord,
          permissions: JSON.stringify(data.permissions),
          created_at: at,
          expires_at: data.expiresAt,
          revoked: 0,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      return
    case 'KeyRenamed':
      await db.updateTable('gateway_service_keys').set({ name_record: data.nameRecord }).where('id', '=', id).execute()
      return
    case 'KeyRevoked':
      await db.updateTable('gateway_service_keys').set({ revoked: 1 }).where('id', '=', id).execute()
      return
  }
}
