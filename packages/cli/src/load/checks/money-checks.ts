import type { Json } from '../../json.ts'
import type { PostRunData } from './post-run-data.ts'
import { sumLedgerAccountMsat } from './ledger.ts'
import { getValueAt, getTextAt, formatValueAt } from '../market/load-market.ts'
import { isStatusEnded, isStatusSold } from '../orders/load-order.ts'
import { type LoadCheckResult, concludeCheck, skipCheck } from './check-result.ts'

/** Checks that a payment is settled for a sold channel, or returned once its order has ended without a channel; never both. */
export function checkBuyers({ orders, reports, network }: PostRunData): LoadCheckResult {
  const name = "Buyers' payments are settled or returned"
  if (!network || !reports)
    return skipCheck(name, 'it needs the operator token of a market with a simulated network, and its answers')
  const sums = { SUCCEEDED: 0n, FAILED: 0n, IN_FLIGHT: 0n }
  let paidMsat = 0n
  const faults: string[] = []
  for (const { id, status, paid } of orders) {
    const report = reports.get(id) ?? null
    const hold = getValueAt(report, 'hold')
    if (getValueAt(hold, 'settled_at') !== null && getValueAt(hold, 'cancelled_at') !== null)
      faults.push(`order ${id} is settled and cancelled`)
    if (!paid) {
      if (getValueAt(hold, 'settled_at') !== null) faults.push(`order ${id} is settled without a payment`)
      continue
    }
    const state = network.payments.get(paid.hash)
    // `checkAnswered` reports missing answers.
    if (state === undefined || report === null) continue
    paidMsat += paid.amountMsat
    if (state === 'SUCCEEDED' || state === 'FAILED' || state === 'IN_FLIGHT') sums[state] += paid.amountMsat
    const expectedState = isStatusSold(status) ? 'SUCCEEDED' : isStatusEnded(status) ? 'FAILED' : undefined
    if (expectedState !== undefined && state !== expectedState)
      faults.push(`order ${id} is ${status}, and its payment is ${state}`)
    if (isStatusSold(status)) faults.push(...checkReceived(id, report, paid.amountMsat))
  }
  const accountedMsat = sums.SUCCEEDED + sums.FAILED + sums.IN_FLIGHT
  if (accountedMsat !== paidMsat) faults.push(`${paidMsat} msat were paid, and ${accountedMsat} msat are accounted for`)
  const held = sums.IN_FLIGHT === 0n ? '' : ` + ${sums.IN_FLIGHT} held`
  return concludeCheck(name, faults, `${paidMsat} msat paid = ${sums.SUCCEEDED} settled + ${sums.FAILED} returned${held}`)
}

function checkReceived(id: string, report: Json, paidMsat: bigint): readonly string[] {
  const receivedMsat = sumLedgerAccountMsat(report, 'received')
  return receivedMsat === paidMsat ? [] : [`order ${id} was paid ${paidMsat} msat, and its ledger received ${receivedMsat}`]
}

/** Checks that the seller of a valid order is paid all that the ledger owes, exactly once. */
export function checkSellers({ reports, isComplete }: PostRunData): LoadCheckResult {
  const name = 'Sellers of valid orders are paid'
  if (!reports) return skipCheck(name, 'it needs the operator token and an answer')
  const sold = [...reports].filter(([, report]) => isStatusSold(getTextAt(report, 'status')))
  const counts = new Map<string, number>()
  let paidMsat = 0n
  const faults: string[] = []
  for (const [id, report] of sold) {
    const state = formatValueAt(report, 'payout.state')
    counts.set(state, (counts.get(state) ?? 0) + 1)
    const owedMsat = -sumLedgerAccountMsat(report, 'payable')
    if (state === 'SUCCEEDED') {
      paidMsat -= sumLedgerAccountMsat(report, 'paid-out') + readFeeMsat(report)
      if (owedMsat !== 0n) faults.push(`order ${id} is paid out, and its ledger still owes ${owedMsat} msat`)
      if (getValueAt(report, 'payout.payee') !== getValueAt(report, 'seller_pubkey'))
        faults.push(`order ${id} paid another node than its seller`)
    } else if (owedMsat <= 0n) faults.push(`order ${id} owes its seller nothing, and its payout is ${state}`)
    else if (isComplete && state !== 'WITHHELD') faults.push(`the seller of order ${id} is not paid: ${state}`)
  }
  const states = [...counts].map(([state, count]) => `${count} ${state}`)
  return concludeCheck(name, faults, [`${sold.length} sold`, ...states, `${paidMsat} msat paid out`].join(', '))
}

const readFeeMsat = (report: Json): bigint => {
  const fee = getValueAt(report, 'payout.fee_msat')
  return typeof fee === 'string' ? BigInt(fee) : 0n
}
