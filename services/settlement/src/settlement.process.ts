import type { PayhashCommand, SettlementCommand } from '@penstock/contracts/settlement.ts'
import { deadline, effect, type Next, tell } from '@penstock/kernel/process.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { awaitsCancel } from './cancel.decide.ts'
import { lastHeightOf } from './heights.ts'
import type { Hold } from './hold.ts'
import { isOwing, type Settlement } from './state.ts'

export type SettlementEffect = 'issue' | 'reach' | 'prove' | 'settle' | 'cancel' | 'pay'
type Step = Next<SettlementCommand, SettlementEffect>

/** What an order's money waits for. Empty once it was given back, or the seller has it. */
export const settlementProcess = (state: Settlement, orderId: string): readonly Step[] => [
  ...holdSteps(state.hold),
  ...claimSteps(state, orderId),
  ...payoutSteps(state),
  ...lossSteps(state),
]

function holdSteps(hold: Hold): readonly Step[] {
  const { status, request, invoice, cancelled } = hold
  if (awaitsCancel(hold)) return [effect('cancel', (cancelled?.times ?? 0) + 1)]
  switch (status) {
    case 'requested':
      return [effect('issue', request?.issue)]
    case 'open':
      return request && invoice ? [expiry(invoice.expiresAt, request.paymentHash)] : []
    case 'held':
      return heldSteps(hold)
    case 'settling':
      return [effect('settle')]
    default:
      return []
  }
}

const expiry = (at: number, paymentHash: string): Step =>
  deadline('expire', { at }, { type: 'ExpireInvoice', data: { deadline: at, paymentHash } })

function heldSteps(hold: Hold): readonly Step[] {
  const { reach, settleAsked, noted, lastHeightReached } = hold
  const height = lastHeightOf(hold) ?? 0
  const asked = settleAsked !== null && settleAsked.outpoint === noted?.outpoint
  return [
    deadline('last-height', { height }, { type: 'LastHeight', data: { height } }),
    ...(reach.pending ? [effect('reach' as const, reach.asked)] : []),
    // A wish and the last height are questions of their own.
    ...(asked || lastHeightReached
      ? [effect('prove' as const, 2 * (settleAsked?.times ?? 0) + (lastHeightReached ? 1 : 0))]
      : []),
  ]
}

const claimSteps = ({ payout }: Settlement, orderId: string): readonly Step[] =>
  Object.values(payout.invoices)
    .filter(({ fate }) => fate === 'offered')
    .map(({ paymentHash }) =>
      tell<PayhashCommand>('payhash', paymentHash, `claim ${paymentHash}`, { type: 'ClaimPayhash', data: { orderId } }),
    )

/** While a seller is owed something the stream is not finished: the guard goes through it on every block. */
function payoutSteps(state: Settlement): readonly Step[] {
  const { hold, payout } = state
  if (!isOwing(state)) return []
  if (payout.paying) return [effect('pay', payout.paying.attempt)]
  const due = payout.retryAt ?? (hold.settledAt ?? hold.cancelled?.at ?? 0) + DAY_MS
  // By the number of tries, so that no deadline has a name that was answered before.
  return [deadline(`payout-${payout.attempts}`, { at: due }, { type: 'RetryPayout', data: { deadline: due } })]
}

/** The guard looks for the channel on every block, as long as the stream is not finished. */
const lossSteps = ({ hold, loss }: Settlement): readonly Step[] =>
  hold.status === 'cancelled' && loss?.status === 'asked'
    ? [deadline('loss', { height: loss.untilHeight }, { type: 'EndLoss', data: { height: loss.untilHeight } })]
    : []
