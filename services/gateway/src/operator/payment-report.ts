import { findAsset } from '@penstock/contracts/payments/assets.ts'
import { type TransactionStatus, transactionStatuses } from '@penstock/contracts/payments/lifecycle.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import { findTransaction, listTransactionFacts } from '../payments/read/transactions.ts'
import { isOpenTransactionRow, withPaymentsTables } from '../payments/views/tables.ts'
import { findEnd, type TransactionView } from '@penstock/contracts/payments/transaction-view.ts'
import { transactionCountColumns } from '../payments/views/wallet-totals.ts'

type Db = Pick<Views, 'db'>
export type TransactionReportFilter = {
  readonly environmentId: string | undefined
  readonly walletId: string | undefined
  readonly status: TransactionStatus | undefined
}

const MAX_LISTED = 50

/** Lists transactions of all teams, newest first, also of deleted wallets. A duplicate send is not in the list. */
export async function listTransactionReports(views: Db, filter: TransactionReportFilter) {
  const rows = await selectListed(views, filter).execute()
  const total = await countTransactions(views, filter)
  // The projection writes these texts from the same type.
  return {
    total,
    transactions: rows.map(({ id, status: shown, view }) => toEntry(id, shown, JSON.parse(view) as TransactionView)),
  }
}

/** A list of pending transactions must read the index of only these. Otherwise the database may search all transactions. */
export function selectListed(views: Db, { environmentId, walletId, status }: TransactionReportFilter) {
  const isPendingOnly = status === 'PENDING'
  return withPaymentsTables(views)
    .with(
      (name) => (isPendingOnly ? name('listed').materialized() : name('listed').notMaterialized()),
      (db) =>
        db
          .selectFrom('gateway_transactions')
          .select(['id', 'status', 'view', 'environment_id', 'wallet_id', 'created_at'])
          .where('status', 'is not', null)
          .$if(isPendingOnly, (query) => query.where(isOpenTransactionRow))
          .$if(status !== undefined && !isPendingOnly, (query) => query.where('status', '=', status ?? '')),
    )
    .selectFrom('listed')
    .select(['id', 'status', 'view'])
    .$if(environmentId !== undefined, (query) => query.where('environment_id', '=', environmentId ?? ''))
    .$if(walletId !== undefined, (query) => query.where('wallet_id', '=', walletId ?? ''))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_LISTED)
}

/** Adds the counts of the wallets, so that no count reads every transaction. */
async function countTransactions(views: Db, { environmentId, walletId, status }: TransactionReportFilter): Promise<number> {
  const db = withPaymentsTables(views)
  const statuses = status === undefined ? transactionStatuses : [status]
  const columns = Object.values(transactionCountColumns).flatMap((ofDirection) => statuses.map((one) => ofDirection[one]))
  const wallets = db
    .selectFrom('gateway_wallets')
    .select('id')
    .where('environment_id', '=', environmentId ?? '')
  const sums = await db
    .selectFrom('gateway_wallet_totals')
    .select(({ fn }) => columns.map((column) => fn.sum<string | number | null>(column).as(column)))
    .$if(environmentId !== undefined, (query) => query.where('wallet_id', 'in', wallets))
    .$if(walletId !== undefined, (query) => query.where('wallet_id', '=', walletId ?? ''))
    .executeTakeFirstOrThrow()
  return columns.reduce((total, column) => total + Number(sums[column] ?? 0), 0)
}

const formatTime = (at: number | null | undefined): string | null => (at === null || at === undefined ? null : isoTime(at))

const toEntry = (id: string, status: string | null, view: TransactionView) => ({
  id,
  direction: view.direction,
  status: status ?? 'DUPLICATE',
  asset: findAsset(view.assetId)?.symbol ?? view.assetId,
  // An amount beside the symbol of its asset would look like an amount of whole units.
  base_units: view.amount,
  wallet: view.walletId,
  environment: view.environmentId,
  created_at: isoTime(view.createdAt),
  ends_at: formatTime(findEnd(view)),
})

/** Reads any transaction as an operator sees it, with its facts. The report contains no text of a person and no invoice. */
export async function readTransactionReport(views: Db, id: string) {
  const stored = await findTransaction(views, id)
  if (!stored) return undefined
  const { view } = stored
  const { settlement } = view
  const { wallet, environment, created_at, ends_at, ...entry } = toEntry(id, stored.status, view)
  const facts = await listTransactionFacts(views, id)
  return {
    ...entry,
    amount_msat: view.amountMsat,
    settled_base_units: settlement?.amount ?? null,
    settled_amount_msat: settlement?.amountMsat ?? null,
    fee_msat: settlement?.feeMsat ?? null,
    reason: view.failure,
    payment_hash: view.paymentHash,
    duplicate_of: view.duplicateOf,
    wallet,
    environment,
    team: view.teamId,
    created_at,
    ends_at,
    updated_at: isoTime(view.updatedAt),
    settled_at: formatTime(settlement?.at),
    facts: facts.map(({ type, at }) => ({ at: isoTime(at), fact: type })),
  }
}
