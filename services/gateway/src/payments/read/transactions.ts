import { type TransactionFactType, type TransactionStatus, transactionStatuses } from '@penstock/contracts/payments/lifecycle.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { invalidInput } from '../../errors.ts'
import type { ListPage, Page } from '../../list-page.ts'
import { type PaymentsCaller, seesWallet } from '../access.ts'
import { type PaymentsTables, withPaymentsTables } from '../views/tables.ts'
import type { TransactionView } from '@penstock/contracts/payments/transaction-view.ts'
import { transactionCountColumns } from '../views/wallet-totals.ts'

type Db = Pick<Views, 'db'>

export type StoredTransaction = {
  readonly id: string
  /** The status that callers see; null for a send that another send stands for. */
  readonly status: TransactionStatus | null
  readonly view: TransactionView
}

// The projection writes these columns from the same types.
const toStoredTransaction = ({ id, status, view }: { id: string; status: string | null; view: string }): StoredTransaction => ({
  id,
  status: status as TransactionStatus | null,
  view: JSON.parse(view) as TransactionView,
})

/** Finds a transaction, also of a deleted wallet. */
export async function findTransaction(views: Db, id: string): Promise<StoredTransaction | undefined> {
  const row = await withPaymentsTables(views)
    .selectFrom('gateway_transactions')
    .select(['id', 'status', 'view'])
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toStoredTransaction(row)
}

/** @returns the send that stands for a duplicate, and every other transaction itself */
export async function resolveDuplicate(views: Db, found: StoredTransaction): Promise<StoredTransaction | undefined> {
  return found.view.duplicateOf === null ? found : findTransaction(views, found.view.duplicateOf)
}

const selectTransactionsOfWallets = (views: Db) =>
  withPaymentsTables(views)
    .selectFrom('gateway_transactions as t')
    .innerJoin('gateway_wallets as w', 'w.id', 't.wallet_id')
    .innerJoin('gateway_environments as e', 'e.id', 't.environment_id')
    .where('w.deleted', '=', 0)
    .where('e.deleted', '=', 0)
    .select(['t.id', 't.status', 't.view', 't.wallet_id', 't.environment_id', 't.team_id'])

const notFound = () => invalidInput('Transaction not found')

/** @throws the error for an unknown transaction, also if the caller does not see its wallet */
export async function requireTransaction(views: Db, caller: PaymentsCaller, id: string): Promise<StoredTransaction> {
  const row = await selectTransactionsOfWallets(views).where('t.id', '=', id).executeTakeFirst()
  if (!row || !seesWallet(caller, { ...row, id: row.wallet_id })) throw notFound()
  const shown = await resolveDuplicate(views, toStoredTransaction(row))
  if (!shown) throw notFound()
  return shown
}

/** Finds a transaction of the caller's wallets by its payment hash. A send comes first, then the newest transaction. */
export async function requireTransactionByHash(
  views: Db,
  { teamId, key }: PaymentsCaller,
  paymentHash: string,
): Promise<StoredTransaction> {
  const row = await selectTransactionsOfWallets(views)
    .where('t.payment_hash', '=', paymentHash)
    .where('t.team_id', '=', teamId)
    .where('t.status', 'is not', null)
    .$if(key !== null, (query) => query.where('t.environment_id', '=', key?.environmentId ?? ''))
    .$if(key !== null && key.walletId !== null, (query) => query.where('t.wallet_id', '=', key?.walletId ?? ''))
    .orderBy('t.direction', 'desc')
    .orderBy('t.created_at', 'desc')
    .orderBy('t.id', 'desc')
    .executeTakeFirst()
  if (!row) throw notFound()
  return toStoredTransaction(row)
}

/** The transactions of one wallet, or of all wallets of one environment. */
export type TransactionScope = { readonly walletId: string } | { readonly environmentId: string }

export type TransactionFilter = {
  readonly direction: TransactionView['direction'] | undefined
  readonly status: TransactionStatus | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly from: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to: number | undefined
}

/** Lists transactions, newest first. The database reads them in the order of an index by wallet or by environment. */
export async function listTransactions(
  views: Db,
  scope: TransactionScope,
  page: Page,
  filter: TransactionFilter,
): Promise<ListPage<StoredTransaction>> {
  const { direction, status, from, to } = filter
  const selected = selectScope(views, scope)
    .$if(status === undefined, (query) => query.where(isShown, '=', 1))
    .$if(direction !== undefined, (query) => query.where('direction', '=', direction ?? ''))
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? ''))
    .$if(from !== undefined, (query) => query.where('created_at', '>=', from ?? 0))
    .$if(to !== undefined, (query) => query.where('created_at', '<', to ?? 0))
  const countRange = async (): Promise<number> =>
    Number((await selected.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow()).total)
  const hasRange = from !== undefined || to !== undefined
  const total = hasRange ? await countRange() : await countByTotals(views, scope, filter)
  if (page.offset >= total) return { total, list: [] }
  const list = await selected
    .select(['id', 'status', 'view'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  return { total, list: list.map(toStoredTransaction) }
}

/** Excludes a send that another send stands for. The `case` prevents the use of an index by status, which has another order. */
const isShown = sql<number>`case when status is null then 0 else 1 end`

const selectDeletedWallets = (views: Db, environmentId: string) =>
  withPaymentsTables(views)
    .selectFrom('gateway_wallets')
    .select('id')
    .where('environment_id', '=', environmentId)
    .where('deleted', '=', 1)

function selectScope(views: Db, scope: TransactionScope) {
  const transactions = withPaymentsTables(views).selectFrom('gateway_transactions')
  if ('walletId' in scope) return transactions.where('wallet_id', '=', scope.walletId)
  const { environmentId } = scope
  return transactions
    .where('environment_id', '=', environmentId)
    .where('wallet_id', 'not in', selectDeletedWallets(views, environmentId))
}

/** Adds the counts of the wallets, so that the cost does not grow with the number of transactions. */
async function countByTotals(
  views: Db,
  scope: TransactionScope,
  { direction, status }: Pick<TransactionFilter, 'direction' | 'status'>,
): Promise<number> {
  const totals = withPaymentsTables(views).selectFrom('gateway_wallet_totals').selectAll()
  const rows =
    'walletId' in scope
      ? await totals.where('wallet_id', '=', scope.walletId).execute()
      : await totals.where('wallet_id', 'in', selectWalletIds(views, scope.environmentId)).execute()
  const directions = direction === undefined ? (['RECEIVE', 'SEND'] as const) : [direction]
  const statuses = status === undefined ? transactionStatuses : [status]
  const columns = directions.flatMap((one) => statuses.map((each) => transactionCountColumns[one][each]))
  return rows.reduce((sum, row) => columns.reduce((partial, column) => partial + row[column], sum), 0)
}

const selectWalletIds = (views: Db, environmentId: string) =>
  withPaymentsTables(views)
    .selectFrom('gateway_wallets')
    .select('id')
    .where('environment_id', '=', environmentId)
    .where('deleted', '=', 0)

export type TransactionFactRow = Pick<PaymentsTables['gateway_transaction_facts'], 'id' | 'reason' | 'at'> & {
  readonly type: TransactionFactType
}

/** Lists the facts of a transaction, oldest first. */
export async function listTransactionFacts(views: Db, transactionId: string): Promise<readonly TransactionFactRow[]> {
  const rows = await withPaymentsTables(views)
    .selectFrom('gateway_transaction_facts')
    .select(['id', 'type', 'reason', 'at'])
    .where('transaction_id', '=', transactionId)
    .orderBy('revision')
    .execute()
  // The projection writes the types of the contracts.
  return rows.map((row) => ({ ...row, type: row.type as TransactionFactType }))
}
