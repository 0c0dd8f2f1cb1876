import type { OutpointClaimCommand } from '@penstock/contracts/channel.ts'
import type { MatchCommand } from '@penstock/contracts/matching.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { type CommandStep, deadline, type Next, type Process, tell } from '@penstock/kernel/process.ts'
import { duties, noteOutpoint, releaseQuestion } from './duties.ts'
import type { OrderCommand } from './order.decide.ts'
import { isEnded, isFailed, isSettling, liveAttempt, type Order, type Placed, searching } from './state.ts'
import { holdTerms, need } from './terms.ts'

type Step = Next<OrderCommand>

/** What an order asks of others next. An order that has ended asks for nothing once everybody was told. */
export const fulfilment: Process<Order, OrderCommand> = (order, id) =>
  order.status === 'NONE'
    ? []
    : [
        ...holdSteps(order, id),
        ...sellerSteps(order, id),
        ...payoutSteps(order, id),
        ...duties(order, id).map(({ step }) => step),
      ]

function holdSteps(order: Placed, id: string): readonly Step[] {
  const settle = (step: string, command: Parameters<typeof tell<SettlementCommand>>[3], attempt = 1) => [
    tell<SettlementCommand>('settlement', id, step, command, attempt),
  ]
  if (isEnded(order)) return []
  if (order.approveBefore !== null && order.hold === 'none') return [approval(order.approveBefore)]
  if (order.hold === 'asked') return settle('issue-hold', { type: 'IssueHold', data: holdTerms(order.terms) })
  if (order.closing) {
    const { reason, to } = order.closing
    const byOperator = to === 'ADMIN_CLOSED' && { byOperator: true as const }
    return settle('cancel-hold', { type: 'CancelHold', data: { sentence: reason, ...byOperator } })
  }
  if (order.status === 'SELLER_OPENED_CHANNEL' && order.named && !isSettling(order))
    return settle('settle-hold', { type: 'SettleHold', data: { outpoint: order.named.outpoint } }, order.named.openings)
  return []
}

const approval = (at: number): Step =>
  deadline<OrderCommand>('lapse-approval', { at }, { type: 'LapseApproval', data: { deadline: at } })

/** While the payment is held and no outpoint is named: find a seller, try the buyer's node, wait for the outpoint. */
function sellerSteps(order: Placed, id: string): readonly Step[] {
  if (isEnded(order) || order.closing || isSettling(order)) return []
  if (order.offered) return [...search(order, id), offerStep(order, order.offered, id), ...reachSteps(order, id)]
  return [...search(order, id), ...reachSteps(order, id), ...openingDeadline(order)]
}

function search(order: Placed, id: string): readonly CommandStep[] {
  const attempt = searching(order)
  if (attempt === undefined || order.unmatched?.attempt === attempt) return []
  const { terms } = order
  const tried = order.attempts.map(({ candidate }) => candidate.offerId)
  const data = { attempt, need: need(terms), first: terms.candidate, only: terms.source === 'manual', tried }
  return [tell<MatchCommand>('match', id, `find-seller-${attempt}`, { type: 'FindSeller', data })]
}

function reachSteps(order: Placed, id: string): readonly CommandStep[] {
  const live = liveAttempt(order)
  if (!live || (live.status !== 'accepted' && order.reported !== live.number)) return []
  const check = { type: 'CheckReach', data: { attempt: order.looks } } as const
  return [tell<SettlementCommand>('settlement', id, `check-reach-${order.looks}`, check)]
}

// Not while an outpoint is being recorded, or the buyer's node is tried. The step's name has the number of offers, so that a refusal sets it anew.
function openingDeadline(order: Placed): readonly Step[] {
  const live = liveAttempt(order)
  if (live?.status !== 'opening' || live.openBefore === null || order.reported === live.number) return []
  const data = { attempt: live.number, deadline: live.openBefore }
  const step = `lapse-opening-${live.number}-${order.offers}`
  return [deadline<OrderCommand>(step, { at: live.openBefore }, { type: 'LapseOpening', data })]
}

function offerStep(order: Placed, offered: NonNullable<Placed['offered']>, id: string): CommandStep {
  const { attempt, outpoint, number, stage } = offered
  switch (stage) {
    case 'rereserving':
      return tell<MatchCommand>('match', id, `rereserve-${number}`, {
        type: 'Rereserve',
        data: { attempt, question: releaseQuestion(order, attempt) - 1 },
      })
    case 'claiming':
      return tell<OutpointClaimCommand>('outpoint', outpoint, `claim-${number}`, {
        type: 'ClaimOutpoint',
        data: { orderId: id, attempt },
      })
    case 'noting':
      return noteOutpoint(order, offered, id)
  }
}

/** Invoices of sellers go to settlement, which pays the one of whoever opened the channel. */
const payoutSteps = (order: Placed, id: string): readonly CommandStep[] =>
  isFailed(order)
    ? []
    : order.payouts
        .filter(({ state }) => state === 'offered')
        .map(({ attempt, request, paymentHash, payee, amountMsat, expiresAt }) => {
          const data = { request, paymentHash, payee, amountMsat: `${amountMsat}`, expiresAt }
          const give = { type: 'GivePayoutInvoice', data } as const
          // By the attempt: what was forgotten, since another seller's turn came first, may be given again in a later one.
          return tell<SettlementCommand>('settlement', id, `give-payout-${paymentHash}`, give, attempt)
        })
