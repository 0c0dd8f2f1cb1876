import type { Transaction } from 'kysely'
import type { ErasureTables } from './tables.ts'

/** Lets the gateway's prune job erase the texts of deleted content. */
export async function requestErasure(
  db: Transaction<ErasureTables>,
  erasure: Omit<ErasureTables['gateway_payments_erasures'], 'due_at'>,
): Promise<void> {
  await db
    .insertInto('gateway_payments_erasures')
    .values({ ...erasure, due_at: erasure.at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
