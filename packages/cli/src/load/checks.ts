import { isList, isObject, objectsOf } from '../json.ts'
import { balancesCheck } from './balance-checks.ts'
import type { Evidence } from './evidence.ts'
import { isHeldLate, isHolding, lastHeightOf } from './hold.ts'
import { omitted } from './omitted.ts'
import { at, textAt, wordAt } from './market.ts'
import { buyersCheck, sellersCheck } from './money-checks.ts'
import { isEnded, isPaid, partyOf } from './order.ts'
import { type Check, judged, skipped } from './verdict.ts'

export const allChecks = (evidence: Evidence): readonly Check[] => [
  placedCheck(evidence),
  begunCheck(evidence),
  seenCheck(evidence),
  ordersCheck(evidence),
  finishedCheck(evidence),
  buyersCheck(evidence),
  sellersCheck(evidence),
  holdsCheck(evidence),
  auditCheck(evidence),
  parkedCheck(evidence),
  balancesCheck(evidence),
]

const placedCheck = ({ orders }: Evidence): Check =>
  judged('The market took orders', orders.length > 0 ? [] : ['not one order was placed'], `${orders.length} placed`)

/** The latencies are free of coordinated omission only where all that was due is in them. */
function begunCheck({ due }: Evidence): Check {
  const name = 'All that was due was sent'
  const sentence = omitted(due)
  if (sentence === null) return judged(name, [], `${due.arrived} orders were due`)
  return due.isShedAllowed ? judged(name, [], `${sentence}; --allow-shed allows it`) : judged(name, [sentence], '')
}

const seenCheck = ({ missing, reports }: Evidence): Check =>
  judged('All of it could be looked at', missing, reports ? 'every question was answered' : 'by what buyers see')

/** A due deadline is carried out within moments. */
const LATE_MS = 30_000

/** Every order has ended, or somebody can be named that it waits for. */
function ordersCheck({ orders, network, now }: Evidence): Check {
  const waiting = orders.filter(({ status }) => !isEnded(status))
  const faults = waiting.flatMap((order) => {
    const { id, status, timeout, paid } = order
    if (partyOf(order) === undefined) return [`order ${id} is ${status}, which waits for nobody`]
    if (timeout !== null && Date.parse(timeout) + LATE_MS < now)
      return [`order ${id} is ${status}, and its time ended at ${timeout}`]
    const hangs = paid !== null && network?.payments.get(paid.hash) === 'IN_FLIGHT'
    return hangs && status.endsWith('PAYMENT') ? [`order ${id} waits for its payment, which was sent`] : []
  })
  const parties = new Map<string, number>()
  for (const order of waiting) {
    const party = partyOf(order) ?? 'nobody'
    parties.set(party, (parties.get(party) ?? 0) + 1)
  }
  const waits = [...parties].map(([party, count]) => `${count} wait for ${party}`)
  return judged(
    'Every order has ended or waits for somebody',
    faults,
    [`${orders.length - waiting.length} ended`, ...waits].join(', '),
  )
}

/** A run that the drain limit ended has measured those that were quick, and nothing of the rest. */
function finishedCheck({ orders, endedBy, isUnfinishedAllowed }: Evidence): Check {
  const name = 'Every paid order came to its end'
  if (endedBy === 'interrupt') return skipped(name, 'Ctrl-C ended the run')
  const unfinished = orders.filter((order) => isPaid(order) && !isEnded(order.status))
  if (unfinished.length === 0) return judged(name, [], 'none was left under way')
  const when = endedBy === 'itself' ? 'end' : endedBy
  const sentence = `paid orders under way at the ${when}: ${unfinished.length}, and the latencies lack what was still to come of them`
  if (isUnfinishedAllowed) return judged(name, [], `${sentence}; --allow-unfinished allows it`)
  const each = unfinished.map((order) => `order ${order.id} is ${order.status}, and waits for ${partyOf(order) ?? 'nobody'}`)
  return judged(name, [sentence, ...each], '')
}

/** Nobody's money is locked longer than the market may lock it. */
function holdsCheck({ reports, network }: Evidence): Check {
  const name = 'No payment is held past its height'
  if (!reports) return skipped(name, 'it needs the operator token and an answer')
  if (!network) return skipped(name, 'the height of this network is not known here')
  const held = [...reports].filter(([, report]) => isHolding(report))
  const faults = held
    .filter(([, report]) => isHeldLate(report, network.height))
    .map(([id, report]) => `order ${id} holds its payment at height ${network.height}, and may until ${lastHeightOf(report)}`)
  return judged(name, faults, `${held.length} held at height ${network.height}`)
}

function auditCheck({ audit }: Evidence): Check {
  const name = 'Every stream folds to its recorded state, and the ledger balances'
  if (audit === null) return skipped(name, 'it needs the operator token and an answer')
  const first = at(audit, 'first')
  const faults = [
    ...(at(audit, 'divergences') === 0 && first === null
      ? []
      : [`${textAt(first, 'stream')} diverges: ${textAt(first, 'what')}`]),
    // A gap stays for good, and is most often of before this run; the market has an alert for it.
    ...(isObject(at(audit, 'log')) && [null, 'gap'].includes(at(audit, 'log.unproven') as string | null)
      ? []
      : ['the log heads do not prove the end of the log: see "penstock audit verify"']),
    ...(at(audit, 'ledger_balanced') === true ? [] : ['the ledger does not balance']),
  ]
  return judged(name, faults, `${wordAt(audit, 'streams')} streams, ${wordAt(audit, 'events')} events`)
}

function parkedCheck({ parked }: Evidence): Check {
  const name = 'Nothing is parked'
  if (!isList(parked)) return skipped(name, 'it needs the operator token and an answer')
  const faults = objectsOf(parked).map((key) => `${textAt(key, 'group')} parked ${textAt(key, 'topic')} ${textAt(key, 'key')}`)
  return judged(name, faults, 'no message waits for a fix')
}
