import type { SettlementCommand, PayhashTarget } from '@penstock/contracts/settlement.ts'
import { deadline, effect, type ProcessStep, commandStep, command } from '@penstock/kernel/process.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { isAwaitingCancel } from './hold/cancel.decide.ts'
import { lastHeightOfHold } from './hold/heights.ts'
import type { Hold } from './hold/hold.ts'
import { isOwing, type Settlement } from './state.ts'

export type SettlementEffect = 'issue' | 'reach' | 'prove' | 'settle' | 'cancel' | 'pay'
type Step = ProcessStep<SettlementCommand, SettlementEffect>

/** The open steps of an order's hold, payout and loss. Empty once the payment is cancelled, or the payout is paid. */
export const settlementProcess = (state: Settlement, orderId: string): readonly Step[] => [
  ...holdSteps(state.hold),
  ...claimSteps(state, orderId),
  ...payoutSteps(state),
  ...lossSteps(state),
]

function holdSteps(hold: Hold): readonly Step[] {
  const { status, request, invoice, cancelled } = hold
  if (isAwaitingCancel(hold)) return [effect('cancel', (cancelled?.times ?? 0) + 1)]
  switch (status) {
    case 'requested':
      return [effect('issue', request?.issue, buyerOf(hold))]
    case 'open':
      return request && invoice ? [expiryDeadline(invoice.expiresAt, request.paymentHash)] : []
    case 'held':
      return heldSteps(hold)
    case 'settling':
      return [effect('settle')]
    default:
      return []
  }
}

/** The lane of effects that connect to the buyer's node, which may not answer. */
const buyerOf = ({ request }: Hold): string | undefined => request?.destination.pubkey

const expiryDeadline = (at: number, paymentHash: string): Step =>
  deadline('expire', { at }, { type: 'ExpireInvoice', data: { deadline: at, paymentHash } })

function heldSteps(hold: Hold): readonly Step[] {
  const { reach, settlementWanted, registered, lastHeightReached } = hold
  const height = lastHeightOfHold(hold) ?? 0
  const isSettlementWanted = settlementWanted !== null && settlementWanted.outpoint === registered?.outpoint
  return [
    deadline('last-height', { height }, { type: 'LastHeight', data: { height } }),
    ...(reach.pending ? [effect('reach' as const, reach.asked, buyerOf(hold))] : []),
    // A settlement request and the last height each start a proof, so both change the attempt number.
    ...(isSettlementWanted || lastHeightReached
      ? [effect('prove' as const, 2 * (settlementWanted?.times ?? 0) + (lastHeightReached ? 1 : 0))]
      : []),
  ]
}

const claimSteps = ({ payout }: Settlement, orderId: string): readonly Step[] =>
  Object.values(payout.invoices)
    .filter(({ state }) => state === 'submitted')
    .map(({ paymentHash }) =>
      commandStep(
        `claim ${paymentHash}`,
        command<PayhashTarget>('payhash', paymentHash, { type: 'ClaimPayhash', data: { orderId } }),
      ),
    )

/** While a payout is owed, the stream is unfinished, so that the guard checks it on every block. */
function payoutSteps(state: Settlement): readonly Step[] {
  const { hold, payout } = state
  if (!isOwing(state)) return []
  const { paying } = payout
  // A lane for each payee: payments that its node holds for long delay no other payee.
  if (paying) return [effect('pay', paying.attempt, payout.invoices[paying.paymentHash]?.payee)]
  const due = payout.retryAt ?? (hold.settledAt ?? hold.cancelled?.at ?? 0) + DAY_MS
  // The name contains the number of attempts, so that no new deadline has the name of a handled deadline.
  return [deadline(`payout-${payout.attempts}`, { at: due }, { type: 'RetryPayout', data: { deadline: due } })]
}

/** The deadline keeps the stream unfinished, so that the guard checks the channel on every block. */
const lossSteps = ({ hold, loss }: Settlement): readonly Step[] =>
  hold.status === 'cancelled' && loss?.status === 'asked'
    ? [deadline('loss', { height: loss.untilHeight }, { type: 'EndLoss', data: { height: loss.untilHeight } })]
    : []
