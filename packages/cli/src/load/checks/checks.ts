import { isList, isObject, filterObjects } from '../../json.ts'
import { checkNetworkBalances } from './balance-checks.ts'
import type { PostRunData } from './post-run-data.ts'
import { isHeldPastLastHeight, isPaymentHeld, readLastHeight } from './hold-heights.ts'
import { describeOmission } from '../measurements/coordinated-omission.ts'
import { getValueAt, getTextAt, formatValueAt } from '../market/load-market.ts'
import { checkBuyers, checkSellers } from './money-checks.ts'
import { isStatusEnded, isLoadOrderPaid, findAwaitedParty } from '../orders/load-order.ts'
import { type LoadCheckResult, concludeCheck, skipCheck } from './check-result.ts'

export const runChecks = (data: PostRunData): readonly LoadCheckResult[] => [
  checkPlaced(data),
  checkOmissions(data),
  checkAnswered(data),
  checkOrders(data),
  checkFinished(data),
  checkBuyers(data),
  checkSellers(data),
  checkHolds(data),
  checkAudit(data),
  checkParked(data),
  checkNetworkBalances(data),
]

const checkPlaced = ({ orders }: PostRunData): LoadCheckResult =>
  concludeCheck('The market accepted orders', orders.length > 0 ? [] : ['no order was placed'], `${orders.length} placed`)

/** The latencies are free of coordinated omission only if they include every order and request that was due. */
function checkOmissions({ due }: PostRunData): LoadCheckResult {
  const name = 'Every due order and request was sent'
  const sentence = describeOmission(due)
  if (sentence === null) return concludeCheck(name, [], `${due.arrived} orders were due`)
  return due.isShedAllowed ? concludeCheck(name, [], `${sentence}; --allow-shed allows it`) : concludeCheck(name, [sentence], '')
}

const checkAnswered = ({ missing, reports }: PostRunData): LoadCheckResult =>
  concludeCheck('Every request of the checks was answered', missing, reports ? 'requests of all kinds' : 'requests of buyers')

/** The market handles a deadline within this time. */
const LATE_MS = 30_000

/** Checks that every order has ended, or waits for a known party within its time. */
function checkOrders({ orders, network, now }: PostRunData): LoadCheckResult {
  const waiting = orders.filter(({ status }) => !isStatusEnded(status))
  const faults = waiting.flatMap((order) => {
    const { id, status, timeout, paid } = order
    if (findAwaitedParty(order) === undefined) return [`order ${id} is ${status}, which waits for no known party`]
    if (timeout !== null && Date.parse(timeout) + LATE_MS < now)
      return [`order ${id} is still ${status} after its deadline ${timeout}`]
    const isInFlight = paid !== null && network?.payments.get(paid.hash) === 'IN_FLIGHT'
    return isInFlight && status.endsWith('PAYMENT') ? [`order ${id} waits for its payment, which was sent`] : []
  })
  const parties = new Map<string, number>()
  for (const order of waiting) {
    const party = findAwaitedParty(order) ?? 'no known party'
    parties.set(party, (parties.get(party) ?? 0) + 1)
  }
  const partyCounts = [...parties].map(([party, count]) => `${count} wait for ${party}`)
  return concludeCheck(
    'Every order has ended or waits for a known party',
    faults,
    [`${orders.length - waiting.length} ended`, ...partyCounts].join(', '),
  )
}

/** Checks that no paid order is unfinished: a run that the drain limit ended has measured only the quick orders. */
function checkFinished({ orders, endedBy, isUnfinishedAllowed }: PostRunData): LoadCheckResult {
  const name = 'Every paid order has ended'
  if (endedBy === 'interrupt') return skipCheck(name, 'Ctrl-C ended the run')
  const unfinished = orders.filter((order) => isLoadOrderPaid(order) && !isStatusEnded(order.status))
  if (unfinished.length === 0) return concludeCheck(name, [], 'no paid order is unfinished')
  const endText = endedBy === 'itself' ? 'end' : endedBy
  const sentence = `unfinished paid orders at the ${endText}: ${unfinished.length}, whose remaining steps are missing from the latencies`
  if (isUnfinishedAllowed) return concludeCheck(name, [], `${sentence}; --allow-unfinished allows it`)
  const unfinishedTexts = unfinished.map(
    (order) => `order ${order.id} is ${order.status}, and waits for ${findAwaitedParty(order) ?? 'no known party'}`,
  )
  return concludeCheck(name, [sentence, ...unfinishedTexts], '')
}

/** Checks that no payment is held past the last height at which the market may hold it. */
function checkHolds({ reports, network }: PostRunData): LoadCheckResult {
  const name = 'No payment is held past its height'
  if (!reports) return skipCheck(name, 'it needs the operator token and an answer')
  if (!network) return skipCheck(name, 'only a simulated network gives the block height')
  const held = [...reports].filter(([, report]) => isPaymentHeld(report))
  const faults = held
    .filter(([, report]) => isHeldPastLastHeight(report, network.height))
    .map(([id, report]) => `order ${id} holds its payment at height ${network.height}, last height ${readLastHeight(report)}`)
  return concludeCheck(name, faults, `${held.length} held at height ${network.height}`)
}

function checkAudit({ audit }: PostRunData): LoadCheckResult {
  const name = 'Every stream folds to its recorded state, and the ledger balances'
  if (audit === null) return skipCheck(name, 'it needs the operator token and an answer')
  const first = getValueAt(audit, 'first')
  const faults = [
    ...(getValueAt(audit, 'divergences') === 0 && first === null
      ? []
      : [`${getTextAt(first, 'stream')} diverges: ${getTextAt(first, 'what')}`]),
    // A gap in the heads is permanent and usually older than this run. The market has an alert for it.
    ...(isObject(getValueAt(audit, 'log')) && [null, 'gap'].includes(getValueAt(audit, 'log.unproven') as string | null)
      ? []
      : ['the log heads do not prove the end of the log: see "penstock audit verify"']),
    ...(getValueAt(audit, 'ledger_balanced') === true ? [] : ['the ledger does not balance']),
  ]
  return concludeCheck(name, faults, `${formatValueAt(audit, 'streams')} streams, ${formatValueAt(audit, 'events')} events`)
}

function checkParked({ parked }: PostRunData): LoadCheckResult {
  const name = 'No message is parked'
  if (!isList(parked)) return skipCheck(name, 'it needs the operator token and an answer')
  const faults = filterObjects(parked).map(
    (key) => `${getTextAt(key, 'group')} parked ${getTextAt(key, 'topic')} ${getTextAt(key, 'key')}`,
  )
  return concludeCheck(name, faults, 'there are no parked keys')
}
