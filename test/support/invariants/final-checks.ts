import type { AuditReport } from '@penstock/audit/verify.ts'
import { checkGuard, checkIncidents, type HeightRange } from './uptime.ts'
import { checkMoney, type MoneySnapshot } from './money.ts'
import { checkOrders } from './orders.ts'
import { type RoundSales, checkSales } from './purchases.ts'
import type { NetworkBlock } from './network-state.ts'
import { findUnexplainedWork, type PendingWork } from './pending-work.ts'

/** The input of the final checks. Most of it is read after the market has stopped. */
export type FinalState = MoneySnapshot & {
  readonly exitCode: number | null
  readonly pendingWork: readonly PendingWork[]
  readonly parked: readonly object[]
  readonly auditReport: Pick<AuditReport, 'divergences' | 'ledger_balanced'>
  readonly uptime: readonly HeightRange[]
  readonly blocks: readonly NetworkBlock[]
  /** A sentence for each projection with unread facts, and for each row that differs from the facts. */
  readonly unreadFacts: readonly string[]
  readonly rowDifferences: readonly string[]
  /** Present if the campaign records its buyers. */
  readonly sales?: RoundSales | undefined
}

/**
 * Runs all final checks. The tests apply a mutation for each check, to show that the check can fail.
 * @returns a sentence for each violation
 */
export const checkFinalState = (state: FinalState): readonly string[] => {
  const { exitCode, orders, networkState, uptime, blocks, sales } = state
  return [
    ...(sales ? checkSales(sales, orders) : []),
    ...(exitCode === 0 ? [] : [`the market exited with ${exitCode} when it was stopped`]),
    ...checkRecords(state),
    ...checkWallets(state),
    ...checkGuard(orders, networkState, uptime, blocks),
    ...checkIncidents(orders, uptime, blocks),
    ...state.unreadFacts,
    ...state.rowDifferences,
  ]
}

/** Checks pending work, orders, parked messages and the audit. These checks need no access to the network. */
export const checkRecords = ({
  pendingWork,
  orders,
  parked,
  auditReport,
}: Pick<FinalState, 'pendingWork' | 'orders' | 'parked' | 'auditReport'>): readonly string[] => [
  ...findUnexplainedWork(pendingWork),
  ...checkOrders(orders, pendingWork),
  ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
  ...(auditReport.divergences === 0 && auditReport.ledger_balanced ? [] : [`the audit found ${JSON.stringify(auditReport)}`]),
]

/** Compares money and channels in the facts with the state of the network. */
export const checkWallets = (snapshot: MoneySnapshot): readonly string[] => checkMoney(snapshot).map(({ violation }) => violation)
