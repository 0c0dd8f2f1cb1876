import { type EnvironmentFact, environmentContract } from '@penstock/contracts/payments/environment.ts'
import { type ReceiveFact, receiveContract } from '@penstock/contracts/payments/receive.ts'
import { type SendFact, sendContract } from '@penstock/contracts/payments/send.ts'
import { type WalletFact, walletContract } from '@penstock/contracts/payments/wallet.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { requestErasure } from './request-erasure.ts'
import { type ErasureTables, type PaymentsTables, withPaymentsTablesIn } from './tables.ts'
import { applyToTransaction } from './transactions.ts'

/** Applies the facts of environments, wallets and transactions to their tables. */
export async function applyToPayments(trx: Transaction<object>, event: Event): Promise<void> {
  const db = withPaymentsTablesIn(trx)
  // The runtime checked each fact against the contract of its category.
  switch (event.category) {
    case environmentContract.category:
      return applyToEnvironment(db, event, event.fact as EnvironmentFact)
    case walletContract.category:
      return applyToWallet(db, event, event.fact as WalletFact)
    case receiveContract.category:
    case sendContract.category:
      return applyToTransaction(db, event, event.fact as ReceiveFact | SendFact)
  }
}

async function applyToEnvironment(
  db: Transaction<PaymentsTables & ErasureTables>,
  { aggregateId: id, at }: Event,
  { type, data }: EnvironmentFact,
): Promise<void> {
  if (type === 'EnvironmentDeleted') {
    await db.updateTable('gateway_environments').set({ deleted: 1 }).where('id', '=', id).execute()
    return requestErasure(db, { id, kind: 'environment', at })
  }
  const { teamId, keyId, type: environmentType, nameRecord } = data
  await db
    .insertInto('gateway_environments')
    .values({
      id,
      team_id: teamId,
      key_id: keyId,
      type: environmentType,
      name_record: nameRecord,
      deleted: 0,
      created_at: at,
    })
    .execute()
}

async function applyToWallet(
  db: Transaction<PaymentsTables & ErasureTables>,
  { aggregateId: id, at }: Event,
  { type, data }: WalletFact,
): Promise<void> {
  if (type === 'WalletDeleted') {
    await db.updateTable('gateway_wallets').set({ deleted: 1 }).where('id', '=', id).execute()
    return requestErasure(db, { id, kind: 'wallet', at })
  }
  const { environmentId, teamId, assetId, nameRecord } = data
  await db
    .insertInto('gateway_wallets')
    .values({
      id,
      environment_id: environmentId,
      team_id: teamId,
      asset_id: assetId,
      name_record: nameRecord,
      deleted: 0,
      created_at: at,
    })
    .execute()
}
