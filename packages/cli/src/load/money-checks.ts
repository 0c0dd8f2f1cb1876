import { type Json, objectsOf } from '../json.ts'
import type { Evidence } from './evidence.ts'
import { at, textAt, wordAt } from './market.ts'
import { isEnded, isSold } from './order.ts'
import { type Check, judged, skipped } from './verdict.ts'

/** What a buyer paid was taken for a channel, or came back; never both, never neither once the order has ended. */
export function buyersCheck({ orders, reports, network }: Evidence): Check {
  const name = 'What buyers paid is settled or came back'
  if (!network || !reports)
    return skipped(name, 'it needs the operator token of a market with a simulated network, and its answers')
  const sums = { SUCCEEDED: 0n, FAILED: 0n, IN_FLIGHT: 0n }
  let paidMsat = 0n
  const faults: string[] = []
  for (const { id, status, paid } of orders) {
    const report = reports.get(id) ?? null
    const hold = at(report, 'hold')
    if (at(hold, 'settled_at') !== null && at(hold, 'cancelled_at') !== null) faults.push(`order ${id} is settled and cancelled`)
    if (!paid) {
      if (at(hold, 'settled_at') !== null) faults.push(`order ${id} is settled, and nobody has paid it`)
      continue
    }
    const state = network.payments.get(paid.hash)
    // That nobody told is a fault of its own.
    if (state === undefined || report === null) continue
    paidMsat += paid.amountMsat
    if (state === 'SUCCEEDED' || state === 'FAILED' || state === 'IN_FLIGHT') sums[state] += paid.amountMsat
    const wanted = isSold(status) ? 'SUCCEEDED' : isEnded(status) ? 'FAILED' : undefined
    if (wanted !== undefined && state !== wanted) faults.push(`order ${id} is ${status}, and its payment ${state}`)
    if (isSold(status)) faults.push(...receivedFaults(id, report, paid.amountMsat))
  }
  const accountedMsat = sums.SUCCEEDED + sums.FAILED + sums.IN_FLIGHT
  if (accountedMsat !== paidMsat) faults.push(`${paidMsat} msat were paid, and ${accountedMsat} msat are accounted for`)
  const held = sums.IN_FLIGHT === 0n ? '' : ` + ${sums.IN_FLIGHT} held`
  return judged(name, faults, `${paidMsat} msat paid = ${sums.SUCCEEDED} settled + ${sums.FAILED} returned${held}`)
}

function receivedFaults(id: string, report: Json, paidMsat: bigint): readonly string[] {
  const receivedMsat = accountMsat(report, 'received')
  return receivedMsat === paidMsat ? [] : [`order ${id} was paid ${paidMsat} msat, and its ledger received ${receivedMsat}`]
}

/** Whoever opened the channel of a valid order is paid what the ledger owes him: all of it, once. */
export function sellersCheck({ reports, isWhole }: Evidence): Check {
  const name = 'Sellers of valid orders are paid'
  if (!reports) return skipped(name, 'it needs the operator token and an answer')
  const sold = [...reports].filter(([, report]) => isSold(textAt(report, 'status')))
  const counts = new Map<string, number>()
  let paidMsat = 0n
  const faults: string[] = []
  for (const [id, report] of sold) {
    const state = wordAt(report, 'payout.state')
    counts.set(state, (counts.get(state) ?? 0) + 1)
    const owedMsat = -accountMsat(report, 'payable')
    if (state === 'SUCCEEDED') {
      paidMsat -= accountMsat(report, 'paid-out') + feeMsat(report)
      if (owedMsat !== 0n) faults.push(`order ${id} is paid out, and its ledger still owes ${owedMsat} msat`)
      if (at(report, 'payout.payee') !== at(report, 'seller_pubkey'))
        faults.push(`order ${id} paid somebody else than its seller`)
    } else if (owedMsat <= 0n) faults.push(`order ${id} owes its seller nothing, and its payout is ${state}`)
    else if (isWhole && state !== 'WITHHELD') faults.push(`the seller of order ${id} is not paid: ${state}`)
  }
  const states = [...counts].map(([state, count]) => `${count} ${state}`)
  return judged(name, faults, [`${sold.length} sold`, ...states, `${paidMsat} msat paid out`].join(', '))
}

const feeMsat = (report: Json): bigint => {
  const fee = at(report, 'payout.fee_msat')
  return typeof fee === 'string' ? BigInt(fee) : 0n
}

/** What an order's ledger has on an account. */
export const accountMsat = (report: Json, account: string): bigint =>
  objectsOf(at(report, 'ledger'))
    .flatMap((posting) => objectsOf(at(posting, 'entries')))
    .filter((entry) => at(entry, 'account') === account)
    .reduce((sum, entry) => sum + BigInt(textAt(entry, 'amountMsat')), 0n)
