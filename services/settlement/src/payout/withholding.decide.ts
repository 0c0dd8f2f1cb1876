import type { EvidenceData, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { HoldRequest } from '../hold/hold.ts'
import { countConfirmations, judgeEvidence } from '../hold/verdict.ts'
import { owedMsat, owedToBuyerPosting } from './ledger.ts'
import { dropLoss } from './loss.decide.ts'
import { CAUSES_COVERED_BY_LOSS, type SettlementPayout, REORG_INCIDENT } from './payout.ts'
import { requestDuePayout } from './payout.decide.ts'
import {
  type CommandOf,
  type SettlementCommandData,
  evolve,
  isOwing,
  type Settlement,
  type SettlementDecision,
} from '../state.ts'

/**
 * A payout is due at the required confirmations, unless a cause withholds it. The fact of each cause has an end height, from
 * which on the cause's own rule applies. No later evidence reverts the settlement.
 */

/** The incident of a channel that each cause records; a cause without an entry is no incident. */
const INCIDENTS: Readonly<Partial<Record<WithholdingCause, string>>> = {
  reorg: REORG_INCIDENT,
  'spend-confirmed': 'funding-spent',
  terms: 'terms-broken',
  promise: 'promise-broken',
}

/** Causes that only an operator can decide, because the market cannot see which party is at fault. */
const DECIDED_BY_OPERATOR: readonly WithholdingCause[] = ['peer-proof', 'spend-confirmed', 'terms', 'operator-loss']
/** Causes that only evidence with a mempool lifts, because a spend that is in no block may still wait for one. */
const CAUSES_OF_SPENDS: readonly WithholdingCause[] = ['spend-unconfirmed', 'spend-confirmed']
/** Causes that no evidence of the chain lifts. */
const PERMANENT_CAUSES: readonly WithholdingCause[] = ['promise', 'operator-loss']

/** The cause at the start of a settlement. A private channel is never announced, so its probe is the best possible proof. */
export function causeOfProof({ peer, isPrivate }: { readonly peer: 'graph' | 'probe' | null; readonly isPrivate: boolean }) {
  if (peer === null)
    return toActiveCause('peer-proof', 'Only the chain has proven the channel; the payout waits for its announcement.')
  if (peer === 'probe' && !isPrivate)
    return toActiveCause('peer-proof', 'Only a probe has proven the channel; the payout waits for its announcement.')
  return toActiveCause(
    'spend-unconfirmed',
    'A spend of the channel waited for a block when the payment was taken; the payout waits for its end.',
  )
}

type ActiveCause = { readonly cause: WithholdingCause; readonly reason: string }
const toActiveCause = (cause: WithholdingCause, reason: string): ActiveCause => ({ cause, reason })

/** Decides at each block after the settlement whether the seller may be paid. */
export function watchPayout(
  state: Settlement,
  evidence: EvidenceData,
  { height, routingFeeLimitPpm }: SettlementCommandData<'Guard'>,
): SettlementDecision {
  const { hold, payout, balances } = state
  const { request, registered } = hold
  if (!request || !registered || payout.paid || payout.paying || payout.creditor === 'buyer') return accept()
  if (isOverruled(state, evidence)) return accept()
  const causes = findCauses(state, evidence)
  const changes = [...liftGoneCauses(payout, causes, evidence, request), ...withholdNewCauses(payout, causes, request, height)]
  const confirmations = countConfirmations(evidence)
  const ended = endDueCauses(changes.reduce(evolve, state).payout, { height, confirmations, request })
  if (ended === 'closed') {
    if (state.loss) return accept(...changes, ...dropLoss(state, height, 'The funding is not in the chain any more.', null))
    const reason = 'The funding is not in the chain at the end of the wait; the seller’s share is owed to the buyer.'
    return accept<SettlementFact>(...changes, toPayableClosed(height, reason), owedToBuyerPosting(owedMsat(balances)))
  }
  const facts = [...changes, ...ended]
  const after = facts.reduce(evolve, state).payout
  if (after.released || Object.keys(after.withheld).length > 0 || confirmations < request.payoutConfirmations)
    return accept(...facts)
  return requestDuePayout(
    state,
    [...facts, { type: 'PayoutReleased', v: 1, data: { atHeight: height, confirmations } }],
    routingFeeLimitPpm,
  )
}

/**
 * Whether newer evidence has withheld the payout. Replicas and jobs look at the same channel, and a slow look may arrive after
 * a newer one. It then neither lifts a cause nor releases the payout.
 */
const isOverruled = ({ hold: { request }, payout }: Settlement, { tipHeight }: EvidenceData): boolean =>
  request !== null && causesOf(payout).some((cause) => tipHeight < startOf(payout, cause, request))

/** The height at which a cause began. */
const startOf = ({ withheld }: SettlementPayout, cause: WithholdingCause, { withheldBlocks }: HoldRequest): number =>
  (withheld[cause]?.untilHeight ?? 0) - withheldBlocks

/** The causes in the evidence that withhold the payout now. */
function findCauses({ hold, payout }: Settlement, evidence: EvidenceData): readonly ActiveCause[] {
  const { registered, request } = hold
  if (!registered) return []
  if (countConfirmations(evidence) === 0)
    return [
      toActiveCause('reorg', 'The funding transaction is no longer in a block; the payout waits until it is buried again.'),
      ...(payout.withheld['peer-proof'] ? [toActiveCause('peer-proof', 'The channel is not proven.')] : []),
    ]
  const isBuriedAgain = countConfirmations(evidence) >= (request?.payoutConfirmations ?? 0)
  const spentBy = evidence.output?.spentBy
  const verdict = judgeEvidence(registered.terms, evidence, { lastHeight: false })
  const isAnnounced = evidence.graph !== null && verdict.verdict !== 'wrong'
  // A private channel is never announced, so a probe through it is the best possible proof.
  const isProbed = registered.terms.isPrivate && verdict.verdict === 'valid' && verdict.peer === 'probe'
  return [
    // The cause lasts until the funding has its payout confirmations again, so that repeated re-organisations are one incident.
    ...(payout.withheld.reorg && !isBuriedAgain ? [toActiveCause('reorg', 'The funding is not buried again.')] : []),
    ...(spentBy && spentBy.height === null
      ? [toActiveCause('spend-unconfirmed', `Transaction ${spentBy.txid} spends the output and waits for a block.`)]
      : []),
    ...(verdict.verdict === 'spent' ? [toActiveCause('spend-confirmed', verdict.sentence)] : []),
    ...(verdict.verdict === 'wrong' ? [toActiveCause('terms', verdict.sentence)] : []),
    ...(payout.withheld['peer-proof'] && !isAnnounced && !isProbed
      ? [toActiveCause('peer-proof', 'The channel is not announced.')]
      : []),
  ]
}

/** Withholds the payout for causes that are new. */
function withholdNewCauses(
  payout: SettlementPayout,
  causes: readonly ActiveCause[],
  { withheldBlocks }: HoldRequest,
  height: number,
): readonly SettlementFact[] {
  return causes
    .filter(({ cause }) => !payout.withheld[cause] && !payout.settledCauses.includes(cause))
    .flatMap((one) => withholdPayout(payout, one, { height, untilHeight: height + withheldBlocks }))
}

function withholdPayout(
  { incidents }: SettlementPayout,
  { cause, reason }: ActiveCause,
  { height, untilHeight }: { readonly height: number; readonly untilHeight: number },
): readonly SettlementFact[] {
  const what = INCIDENTS[cause]
  return [
    ...(what !== undefined && !incidents.includes(what)
      ? [{ type: 'IncidentRecorded' as const, v: 1, data: { what, height } }]
      : []),
    { type: 'PayoutWithheld', v: 2, data: { cause, reason, untilHeight } },
  ]
}

/** Lifts causes that have vanished, except permanent causes. While the funding is in no block, no cause is lifted. */
function liftGoneCauses(
  payout: SettlementPayout,
  causes: readonly ActiveCause[],
  evidence: EvidenceData,
  request: HoldRequest,
): readonly SettlementFact[] {
  if (countConfirmations(evidence) === 0) return []
  const mayLift = (cause: WithholdingCause): boolean =>
    !PERMANENT_CAUSES.includes(cause) &&
    !(CAUSES_OF_SPENDS.includes(cause) && evidence.output?.isSpendUnknown === true) &&
    // Another look in the block of the cause may have begun before the look that found the cause.
    !(CAUSES_OF_SPENDS.includes(cause) && evidence.tipHeight === startOf(payout, cause, request))
  return causesOf(payout)
    .filter((cause) => mayLift(cause) && !causes.some((one) => one.cause === cause))
    .map((cause) => toWithholdingLifted(cause, evidence.tipHeight, 'gone'))
}

const causesOf = ({ withheld: active }: SettlementPayout): readonly WithholdingCause[] =>
  Object.keys(active) as WithholdingCause[] // its own keys

const toWithholdingLifted = (
  cause: WithholdingCause,
  height: number,
  how: 'gone' | 'end-height' | 'operator',
): SettlementFact => ({
  type: 'WithholdingLifted',
  v: 1,
  data: { cause, height, how },
})

const toPayableClosed = (height: number, reason: string): SettlementFact => ({
  type: 'PayableClosed',
  v: 1,
  data: { height, reason },
})

/**
 * Ends causes at their end height, except those that an operator has to decide.
 * @returns 'closed' if the funding is in no block
 */
function endDueCauses(
  payout: SettlementPayout,
  { height, confirmations, request }: { readonly height: number; readonly confirmations: number; readonly request: HoldRequest },
): readonly SettlementFact[] | 'closed' {
  const due = causesOf(payout).filter((cause) => height >= (payout.withheld[cause]?.untilHeight ?? Number.POSITIVE_INFINITY))
  const isOfChain = due.includes('reorg') || due.includes('spend-unconfirmed')
  if (isOfChain && confirmations === 0) return 'closed'
  const isBuried = confirmations >= request.payoutConfirmations
  return due
    .filter((cause) => cause === 'promise' || (cause === 'spend-unconfirmed' && isBuried))
    .map((cause) => toWithholdingLifted(cause, height, 'end-height'))
}

/** Withholds the unpaid payout after a broken promise. A payment that is in progress continues. */
export function recordPromiseBroken(
  { hold, payout }: Settlement,
  { data }: CommandOf<'RecordPromiseBroken'>,
): SettlementDecision {
  const { sentence, height } = data
  const isKnown = payout.withheld.promise !== undefined || payout.incidents.includes('promise-broken')
  if (hold.status !== 'settled' || !hold.request || payout.paid || payout.creditor === 'buyer' || isKnown) return accept()
  const heights = { height, untilHeight: height + hold.request.withheldBlocks }
  return accept(...withholdPayout(payout, toActiveCause('promise', sentence), heights))
}

/** Whether the payout waits for an operator's decision. */
export const isUndecided = (payout: SettlementPayout, height: number): boolean => findCausesToDecide(payout, height).length > 0

/** Causes at their end height that need the decision of an operator. */
const findCausesToDecide = ({ withheld: active }: SettlementPayout, height: number): readonly WithholdingCause[] =>
  DECIDED_BY_OPERATOR.filter((cause) => height >= (active[cause]?.untilHeight ?? Number.POSITIVE_INFINITY))

/**
 * Causes that a decision for the seller lifts. A confirmed loss is paid in any state of the channel: the buyer has its money
 * back and may close the channel. Only a re-organised funding first needs its confirmations again.
 */
const findCoveredCauses = ({ loss, payout }: Settlement, due: readonly WithholdingCause[]): readonly WithholdingCause[] =>
  loss ? CAUSES_COVERED_BY_LOSS.filter((cause) => payout.withheld[cause]) : due

/**
 * An operator can decide when a cause has reached its end height. The payable goes to one side only, and never during a payment.
 * A decision for the seller does not lift causes before their end height. Otherwise a seller that closes the channel during the
 * wait could be paid.
 */
export function decidePayout(state: Settlement, { data }: CommandOf<'DecidePayout'>): SettlementDecision {
  const { payout, balances, loss } = state
  const { to, by, reason, height, isProven } = data
  if (!isProven)
    return refuse('NOT_PROVEN', 'The decision has no valid proof; decide by "penstock payout decide" with the decision key.')
  if (!isOwing(state) || payout.creditor === 'buyer')
    return refuse('NOTHING_OWED', 'No payout of a seller is open for this order.')
  if (payout.paying) return refuse('PAYOUT_UNDER_WAY', 'The payout is under way; its outcome has to be known first.')
  const active = DECIDED_BY_OPERATOR.filter((cause) => payout.withheld[cause])
  if (active.length === 0) return refuse('NOT_WITHHELD', 'This payout has no withholding cause that an operator can decide.')
  if (loss && to === 'buyer')
    return refuse('NOT_THEIRS', 'The buyer has its payment back, and nothing is owed to it; decide for the seller or for nobody.')
  if (!loss && to === 'nobody') return refuse('NOT_THEIRS', 'The buyer has paid; decide for the seller or for the buyer.')
  const due = findCausesToDecide(payout, height)
  if (due.length === 0) {
    const untilHeight = Math.min(...active.map((cause) => payout.withheld[cause]?.untilHeight ?? 0))
    return refuse('TOO_EARLY', `The payout is withheld until height ${untilHeight}; decide from then on. It is ${height} now.`)
  }
  const decided: SettlementFact = { type: 'PayoutDecided', v: 1, data: { to, by, reason } }
  switch (to) {
    case 'seller':
      return accept(decided, ...findCoveredCauses(state, due).map((cause) => toWithholdingLifted(cause, height, 'operator')))
    case 'buyer':
      return accept<SettlementFact>(decided, toPayableClosed(height, reason), owedToBuyerPosting(owedMsat(balances)))
    case 'nobody':
      return accept(decided, ...dropLoss(state, height, reason, by))
  }
}
