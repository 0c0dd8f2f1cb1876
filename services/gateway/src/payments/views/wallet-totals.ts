import type { TransactionStatus } from '@penstock/contracts/payments/lifecycle.ts'
import type { Transaction } from 'kysely'
import type { SettledUnits } from '@penstock/contracts/payments/settled-units.ts'
import type { PaymentsTables, TransactionCounts } from './tables.ts'
import type { TransactionView } from '@penstock/contracts/payments/transaction-view.ts'

type Direction = TransactionView['direction']

export const transactionCountColumns: Readonly<Record<Direction, Readonly<Record<TransactionStatus, keyof TransactionCounts>>>> =
  {
    RECEIVE: {
      PENDING: 'receive_pending',
      COMPLETED: 'receive_completed',
      FAILED: 'receive_failed',
      EXPIRED: 'receive_expired',
    },
    SEND: { PENDING: 'send_pending', COMPLETED: 'send_completed', FAILED: 'send_failed', EXPIRED: 'send_expired' },
  }

const zeroTotals: Omit<PaymentsTables['gateway_wallet_totals'], 'wallet_id'> = {
  received: '0',
  sent: '0',
  fees: '0',
  receive_pending: 0,
  receive_completed: 0,
  receive_failed: 0,
  receive_expired: 0,
  send_pending: 0,
  send_completed: 0,
  send_failed: 0,
  send_expired: 0,
}

/** A change of the status that callers see. `from`: null for a new transaction. `to`: null if callers no longer see it. */
type StatusChange = {
  readonly walletId: string
  readonly direction: Direction
  readonly from: TransactionStatus | null
  readonly to: TransactionStatus | null
  /** The amounts of a transaction that has just completed. */
  readonly settled?: SettledUnits
}

/** Counts a change of status, and adds the amounts of a completed transaction to the wallet's sums. */
export async function addToWalletTotals(db: Transaction<PaymentsTables>, change: StatusChange): Promise<void> {
  const { walletId, direction, from, to, settled } = change
  // The upsert locks the row, so that a concurrent change of the same wallet waits.
  const row = await db
    .insertInto('gateway_wallet_totals')
    .values({ wallet_id: walletId, ...zeroTotals })
    .onConflict((conflict) => conflict.column('wallet_id').doUpdateSet({ wallet_id: walletId }))
    .returningAll()
    .executeTakeFirstOrThrow()
  const columns = transactionCountColumns[direction]
  if (from !== null) row[columns[from]] -= 1
  if (to !== null) row[columns[to]] += 1
  const { wallet_id, ...totals } = settled ? { ...row, ...addAmounts(row, direction, settled) } : row
  await db.updateTable('gateway_wallet_totals').set(totals).where('wallet_id', '=', wallet_id).execute()
}

type Sums = Pick<PaymentsTables['gateway_wallet_totals'], 'received' | 'sent' | 'fees'>

const addAmounts = ({ received, sent, fees }: Sums, direction: Direction, { amount, fee }: SettledUnits): Sums => ({
  received: direction === 'RECEIVE' ? `${BigInt(received) + amount}` : received,
  sent: direction === 'SEND' ? `${BigInt(sent) + amount}` : sent,
  fees: `${BigInt(fees) + fee}`,
})
