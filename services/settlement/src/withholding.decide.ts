import type { EvidenceData, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { HoldRequest } from './hold.ts'
import { confirmationsOf, judged } from './judged.ts'
import { owedMsat, owedToBuyerPosting } from './ledger.ts'
import { lossDropped } from './loss.decide.ts'
import { DECIDED_FOR_GOOD, type Payout, REORGED } from './payout.ts'
import { thenPay } from './payout.decide.ts'
import { type CommandOf, type Data, evolve, isOwing, type Settlement, type SettlementDecision } from './state.ts'

/**
 * When a seller is paid: at its confirmations, and while nothing withholds the payout. Each cause is a fact with the height
 * at which its own rule ends it (decision A4a), and nothing that shows after settling takes the settlement back.
 */

/** Incidents of a channel after the settlement, as they are shown; a cause without one is none. */
const INCIDENTS: Readonly<Partial<Record<WithholdingCause, string>>> = {
  reorg: REORGED,
  'spend-confirmed': 'funding-spent',
  terms: 'terms-broken',
  promise: 'promise-broken',
}

/** Between seller and buyer only a person can decide: nobody else sees who is to blame. */
const DECIDED_BY_OPERATOR: readonly WithholdingCause[] = ['peer-proof', 'spend-confirmed', 'terms', 'operator-loss']
/** Nothing that the chain shows takes them away. */
const STAYS: readonly WithholdingCause[] = ['promise', 'operator-loss']

/** The cause from the settlement itself. A private channel is never announced, so that its probe is all there can be. */
export function causeOfProof({ peer, isPrivate }: { readonly peer: 'graph' | 'probe' | null; readonly isPrivate: boolean }) {
  if (peer === null)
    return withheldFor('peer-proof', 'Only the chain has proven the channel; the payout waits for its announcement.')
  if (peer === 'probe' && !isPrivate)
    return withheldFor('peer-proof', 'Only a probe has proven the channel; the payout waits for its announcement.')
  return withheldFor(
    'spend-unconfirmed',
    'A spend of the channel waited for a block when the payment was taken; the payout waits for its end.',
  )
}

type Found = { readonly cause: WithholdingCause; readonly reason: string }
const withheldFor = (cause: WithholdingCause, reason: string): Found => ({ cause, reason })

/** Looks, on a block after settling, whether the seller may be paid. */
export function watchPayout(
  state: Settlement,
  evidence: EvidenceData,
  { height, routingFeeLimitPpm }: Data<'Guard'>,
): SettlementDecision {
  const { hold, payout, balances } = state
  const { request, noted } = hold
  if (!request || !noted || payout.paid || payout.paying || payout.creditor === 'buyer') return accept()
  const found = causesIn(state, evidence)
  const changes = [...lifted(payout, found, evidence, height), ...withheld(payout, found, request, height)]
  const confirmations = confirmationsOf(evidence)
  const ended = endedBy(changes.reduce(evolve, state).payout, { height, confirmations, request })
  if (ended === 'closed') {
    if (state.loss) return accept(...changes, ...lossDropped(state, height, 'The funding is not in the chain any more.', null))
    const reason = 'The funding is not in the chain at the end of the wait; the seller’s share is owed to the buyer.'
    return accept<SettlementFact>(...changes, closed(height, reason), owedToBuyerPosting(owedMsat(balances)))
  }
  const facts = [...changes, ...ended]
  const after = facts.reduce(evolve, state).payout
  if (after.released || Object.keys(after.withheld).length > 0 || confirmations < request.payoutConfirmations)
    return accept(...facts)
  return thenPay(
    state,
    [...facts, { type: 'PayoutReleased', v: 1, data: { atHeight: height, confirmations } }],
    routingFeeLimitPpm,
  )
}

/** What of the channel speaks against a payout now. */
function causesIn({ hold, payout }: Settlement, evidence: EvidenceData): readonly Found[] {
  const { noted, request } = hold
  if (!noted) return []
  if (confirmationsOf(evidence) === 0)
    return [
      withheldFor('reorg', 'The funding transaction is no longer in a block; the payout waits until it is buried again.'),
      ...(payout.withheld['peer-proof'] ? [withheldFor('peer-proof', 'The channel is not proven.')] : []),
    ]
  const isBuriedAgain = confirmationsOf(evidence) >= (request?.payoutConfirmations ?? 0)
  const spentBy = evidence.output?.spentBy
  const verdict = judged(noted.terms, evidence, { lastHeight: false })
  const isAnnounced = evidence.graph !== null && verdict.verdict !== 'wrong'
  return [
    // One incident, however often it is in a block and out of it again.
    ...(payout.withheld.reorg && !isBuriedAgain ? [withheldFor('reorg', 'The funding is not buried again.')] : []),
    ...(spentBy && spentBy.height === null
      ? [withheldFor('spend-unconfirmed', `Transaction ${spentBy.txid} spends the output and waits for a block.`)]
      : []),
    ...(verdict.verdict === 'spent' ? [withheldFor('spend-confirmed', verdict.sentence)] : []),
    ...(verdict.verdict === 'wrong' ? [withheldFor('terms', verdict.sentence)] : []),
    ...(payout.withheld['peer-proof'] && !isAnnounced ? [withheldFor('peer-proof', 'The channel is not announced.')] : []),
  ]
}

/** Causes that are there and were not before. */
function withheld(
  payout: Payout,
  found: readonly Found[],
  { withheldBlocks }: HoldRequest,
  height: number,
): readonly SettlementFact[] {
  return found
    .filter(({ cause }) => !payout.withheld[cause] && !payout.settledCauses.includes(cause))
    .flatMap((one) => withholding(payout, one, { height, untilHeight: height + withheldBlocks }))
}

function withholding(
  { incidents }: Payout,
  { cause, reason }: Found,
  { height, untilHeight }: { readonly height: number; readonly untilHeight: number },
): readonly SettlementFact[] {
  const what = INCIDENTS[cause]
  return [
    ...(what !== undefined && !incidents.includes(what)
      ? [{ type: 'IncidentNoted' as const, v: 1, data: { what, height } }]
      : []),
    { type: 'PayoutWithheld', v: 2, data: { cause, reason, untilHeight } },
  ]
}

/** Causes that were there and have gone. A broken promise stays broken. Without its block nothing is known of the channel. */
function lifted(payout: Payout, found: readonly Found[], evidence: EvidenceData, height: number): readonly SettlementFact[] {
  const isInBlock = confirmationsOf(evidence) > 0
  return causesOf(payout)
    .filter((cause) => !STAYS.includes(cause) && isInBlock && !found.some((one) => one.cause === cause))
    .map((cause) => lift(cause, height, 'gone'))
}

const causesOf = ({ withheld: standing }: Payout): readonly WithholdingCause[] => Object.keys(standing) as WithholdingCause[] // its own keys

const lift = (cause: WithholdingCause, height: number, how: 'gone' | 'end-height' | 'operator'): SettlementFact => ({
  type: 'WithholdingLifted',
  v: 1,
  data: { cause, height, how },
})

const closed = (height: number, reason: string): SettlementFact => ({ type: 'PayableClosed', v: 1, data: { height, reason } })

/** What the end heights decide by themselves; between seller and buyer an operator decides. */
function endedBy(
  payout: Payout,
  { height, confirmations, request }: { readonly height: number; readonly confirmations: number; readonly request: HoldRequest },
): readonly SettlementFact[] | 'closed' {
  const due = causesOf(payout).filter((cause) => height >= (payout.withheld[cause]?.untilHeight ?? Number.POSITIVE_INFINITY))
  const isOfChain = due.includes('reorg') || due.includes('spend-unconfirmed')
  if (isOfChain && confirmations === 0) return 'closed'
  const isBuried = confirmations >= request.payoutConfirmations
  return due
    .filter((cause) => cause === 'promise' || (cause === 'spend-unconfirmed' && isBuried))
    .map((cause) => lift(cause, height, 'end-height'))
}

/** Costs the seller time while it is still owed something; a payment that is under way goes on. */
export function recordPromiseBroken(
  { hold, payout }: Settlement,
  { data }: CommandOf<'RecordPromiseBroken'>,
): SettlementDecision {
  const { sentence, height } = data
  const isKnown = payout.withheld.promise !== undefined || payout.incidents.includes('promise-broken')
  if (hold.status !== 'settled' || !hold.request || payout.paid || payout.creditor === 'buyer' || isKnown) return accept()
  const until = { height, untilHeight: height + hold.request.withheldBlocks }
  return accept(...withholding(payout, withheldFor('promise', sentence), until))
}

/** Whether it waits for an operator's decision. */
export const isUndecided = (payout: Payout, height: number): boolean => toDecide(payout, height).length > 0

/** Causes whose end has come, and who is right nobody but an operator can say. */
const toDecide = ({ withheld: standing }: Payout, height: number): readonly WithholdingCause[] =>
  DECIDED_BY_OPERATOR.filter((cause) => height >= (standing[cause]?.untilHeight ?? Number.POSITIVE_INFINITY))

/**
 * What a decision for the seller covers. A loss that is confirmed is paid whatever stands of the channel, since its buyer
 * has the money back and may close it at any time; only a block that was lost has to come back first.
 */
const covered = ({ loss, payout }: Settlement, due: readonly WithholdingCause[]): readonly WithholdingCause[] =>
  loss ? DECIDED_FOR_GOOD.filter((cause) => payout.withheld[cause]) : due

/**
 * A person decides, from the end of a cause on: the payable goes to exactly one side, and never while it is being paid. For
 * the seller a cause whose end has not come stays: nobody closes a channel while its proof is judged, and is paid for it.
 */
export function decidePayout(state: Settlement, { data }: CommandOf<'DecidePayout'>): SettlementDecision {
  const { payout, balances, loss } = state
  const { to, by, reason, height } = data
  if (!isOwing(state) || payout.creditor === 'buyer')
    return refuse('NOTHING_OWED', 'No payout of a seller is open for this order.')
  if (payout.paying) return refuse('PAYOUT_UNDER_WAY', 'The payout is under way; its outcome has to be known first.')
  const standing = DECIDED_BY_OPERATOR.filter((cause) => payout.withheld[cause])
  if (standing.length === 0) return refuse('NOT_WITHHELD', 'Nothing withholds this payout that an operator has to decide.')
  if (loss && to === 'buyer')
    return refuse('NOT_THEIRS', 'The buyer has its payment back, and nothing is owed to it; decide for the seller or for nobody.')
  if (!loss && to === 'nobody') return refuse('NOT_THEIRS', 'The buyer has paid; decide for the seller or for the buyer.')
  const due = toDecide(payout, height)
  if (due.length === 0) {
    const untilHeight = Math.min(...standing.map((cause) => payout.withheld[cause]?.untilHeight ?? 0))
    return refuse('TOO_EARLY', `The payout is withheld until height ${untilHeight}; decide from then on. It is ${height} now.`)
  }
  const decided: SettlementFact = { type: 'PayoutDecided', v: 1, data: { to, by, reason } }
  switch (to) {
    case 'seller':
      return accept(decided, ...covered(state, due).map((cause) => lift(cause, height, 'operator')))
    case 'buyer':
      return accept<SettlementFact>(decided, closed(height, reason), owedToBuyerPosting(owedMsat(balances)))
    case 'nobody':
      return accept(decided, ...lossDropped(state, height, reason, by))
  }
}
