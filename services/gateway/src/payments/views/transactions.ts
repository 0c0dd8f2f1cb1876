import { findTransactionStatus, type TransactionStatus } from '@penstock/contracts/payments/lifecycle.ts'
import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import type { SendFact } from '@penstock/contracts/payments/send.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { toSettledUnits } from '@penstock/contracts/payments/settled-units.ts'
import type { PaymentsTables } from './tables.ts'
import {
  createTransactionView,
  evolveTransactionView,
  findEnd,
  type TransactionView,
} from '@penstock/contracts/payments/transaction-view.ts'
import { addToWalletTotals } from './wallet-totals.ts'

type TransactionFact = ReceiveFact | SendFact
type StoredTransaction = { readonly view: TransactionView; readonly status: TransactionStatus | null }

/** Applies a fact to the transaction's row, to its list of facts, and to the totals of its wallet. */
export async function applyToTransaction(db: Transaction<PaymentsTables>, event: Event, fact: TransactionFact): Promise<void> {
  const before = await findForUpdate(db, event.aggregateId)
  const view = evolve(before?.view, fact, event)
  const status = findTransactionStatus(fact.type)
  await saveTransaction(db, event.aggregateId, view, status)
  await recordFact(db, event, fact)
  const from = before?.status ?? null
  if (from === status) return
  const { walletId, direction, assetId, settlement } = view
  const settled = status === 'COMPLETED' && settlement ? toSettledUnits({ direction, assetId, settlement }) : undefined
  await addToWalletTotals(db, { walletId, direction, from, to: status, ...(settled && { settled }) })
}

function evolve(before: TransactionView | undefined, fact: TransactionFact, { aggregateId, at }: Event): TransactionView {
  if (fact.type === 'ReceiveRequested' || fact.type === 'SendRequested') return createTransactionView(fact, at)
  assert(before, `transaction ${aggregateId} has ${fact.type} before its request`)
  return evolveTransactionView(before, fact, at)
}

async function findForUpdate(db: Transaction<PaymentsTables>, id: string): Promise<StoredTransaction | undefined> {
  const row = await db.selectFrom('gateway_transactions').select(['view', 'status']).where('id', '=', id).executeTakeFirst()
  // This file writes the columns from the same types.
  return row && { view: JSON.parse(row.view) as TransactionView, status: row.status as TransactionStatus | null }
}

async function saveTransaction(
  db: Transaction<PaymentsTables>,
  id: string,
  view: TransactionView,
  status: TransactionStatus | null,
): Promise<void> {
  const { walletId, environmentId, teamId, direction, paymentHash, createdAt } = view
  const changing = { status, payment_hash: paymentHash, ends_at: findEnd(view), view: JSON.stringify(view) }
  await db
    .insertInto('gateway_transactions')
    .values({
      id,
      wallet_id: walletId,
      environment_id: environmentId,
      team_id: teamId,
      direction,
      created_at: createdAt,
      ...changing,
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changing))
    .execute()
}

async function recordFact(
  db: Transaction<PaymentsTables>,
  { id, aggregateId, revision, at }: Event,
  { type, data }: TransactionFact,
): Promise<void> {
  const reason = 'reason' in data ? data.reason : null
  await db
    .insertInto('gateway_transaction_facts')
    .values({ id, transaction_id: aggregateId, revision, type, reason, at })
    .execute()
}
