import type { OutpointClaimTarget } from '@penstock/contracts/channel.ts'
import type { MatchTarget } from '@penstock/contracts/matching.ts'
import type { SettlementCommand, SettlementTarget } from '@penstock/contracts/settlement.ts'
import {
  type CommandStep,
  deadline,
  type ProcessStep,
  type Process,
  commandStep,
  sentUntil,
  command,
  type CommandBody,
} from '@penstock/kernel/process.ts'
import { cancelHoldStep, notificationSteps, registerOutpointStep, nextReleaseRequest } from './notifications.ts'
import type { EnrichedOrderCommand } from './order.decide.ts'
import { hasEnded, isFailed, isSettling, findLiveAttempt, type Order, type PlacedOrder, findPendingSearch } from './state.ts'
import { computeInvoiceDeadline, holdTermsOf, needOf } from './terms.ts'

type Step = ProcessStep<EnrichedOrderCommand>

/** The next commands and deadlines of an order. An ended order has only payouts and notifications. */
export const fulfilment: Process<Order, EnrichedOrderCommand> = (order, id) =>
  order.status === 'NONE'
    ? []
    : [...holdSteps(order, id), ...sellerSteps(order, id), ...payoutSteps(order, id), ...notificationSteps(order, id)]

function holdSteps(order: PlacedOrder, id: string): readonly Step[] {
  const toSettlement = (step: string, body: CommandBody<SettlementCommand>, attempt = 1) => [
    commandStep(step, command<SettlementTarget>('settlement', id, body), attempt),
  ]
  if (hasEnded(order)) return []
  if (order.approveBefore !== null && order.hold === 'none') return [approvalDeadline(order.approveBefore)]
  if (order.hold === 'asked') return issueSteps(order, id)
  if (order.closing) {
    const { reason, to } = order.closing
    const byOperator = to === 'ADMIN_CLOSED' && { byOperator: true as const }
    return [cancelHoldStep(id, { sentence: reason, ...byOperator })]
  }
  if (order.status === 'SELLER_OPENED_CHANNEL' && order.outpoint && !isSettling(order))
    return toSettlement(
      'settle-hold',
      { type: 'SettleHold', data: { outpoint: order.outpoint.outpoint } },
      order.outpoint.timesOpened,
    )
  return []
}

/** Settlement drops a late request for the invoice. If the gateway does not withdraw the order, its deadline ends it. */
function issueSteps({ terms }: PlacedOrder, id: string): readonly Step[] {
  const issue = command<SettlementTarget>('settlement', id, { type: 'IssueHold', data: holdTermsOf(terms) })
  const step = sentUntil(commandStep('issue-hold', issue), terms.invoiceBefore)
  const at = computeInvoiceDeadline(terms)
  if (at === undefined) return [step]
  return [step, deadline<EnrichedOrderCommand>('lapse-invoice', { at }, { type: 'LapseInvoice', data: { deadline: at } })]
}

const approvalDeadline = (at: number): Step =>
  deadline<EnrichedOrderCommand>('lapse-approval', { at }, { type: 'LapseApproval', data: { deadline: at } })

/** While the payment is held and no outpoint is accepted: searches a seller, tries the buyer's node, awaits the outpoint. */
function sellerSteps(order: PlacedOrder, id: string): readonly Step[] {
  if (hasEnded(order) || order.closing || isSettling(order)) return []
  if (order.pendingOutpoint)
    return [...searchSteps(order, id), outpointStep(order, order.pendingOutpoint, id), ...reachSteps(order, id)]
  return [...searchSteps(order, id), ...reachSteps(order, id), ...openingDeadline(order)]
}

function searchSteps(order: PlacedOrder, id: string): readonly CommandStep[] {
  const attempt = findPendingSearch(order)
  if (attempt === undefined || order.failedSearch?.attempt === attempt) return []
  const { terms } = order
  const tried = order.attempts.map(({ candidate }) => candidate.offerId)
  const { autoAccepted, candidate: first, source } = terms
  const data = { attempt, need: needOf(terms), first, only: source === 'manual', autoAccepted, tried }
  return [commandStep(`find-seller-${attempt}`, command<MatchTarget>('match', id, { type: 'FindSeller', data }))]
}

function reachSteps(order: PlacedOrder, id: string): readonly CommandStep[] {
  const live = findLiveAttempt(order)
  if (!live || (live.status !== 'accepted' && order.unreachableReport !== live.number)) return []
  const checkCommand = { type: 'CheckReach', data: { attempt: order.reachChecks } } as const
  return [commandStep(`check-reach-${order.reachChecks}`, command<SettlementTarget>('settlement', id, checkCommand))]
}

// There is no deadline while our node tries to connect to the buyer's node. The step's name contains the number of
// submissions, so that the deadline is set again after a refused outpoint.
function openingDeadline(order: PlacedOrder): readonly Step[] {
  const live = findLiveAttempt(order)
  if (live?.status !== 'opening' || live.openBefore === null || order.unreachableReport === live.number) return []
  const data = { attempt: live.number, deadline: live.openBefore }
  const step = `lapse-opening-${live.number}-${order.outpointCount}`
  return [deadline<EnrichedOrderCommand>(step, { at: live.openBefore }, { type: 'LapseOpening', data })]
}

function outpointStep(order: PlacedOrder, pendingOutpoint: NonNullable<PlacedOrder['pendingOutpoint']>, id: string): CommandStep {
  const { attempt, outpoint, number, stage } = pendingOutpoint
  switch (stage) {
    case 'renewing':
      return commandStep(
        `renew-reservation-${number}`,
        command<MatchTarget>('match', id, {
          type: 'RenewReservation',
          data: { attempt, requestNumber: nextReleaseRequest(order, attempt) - 1 },
        }),
      )
    case 'claiming':
      return commandStep(
        `claim-${number}`,
        command<OutpointClaimTarget>('outpoint', outpoint, {
          type: 'ClaimOutpoint',
          data: { orderId: id, attempt },
        }),
      )
    case 'noting':
      return registerOutpointStep(order, pendingOutpoint, id)
  }
}

/** Sends the invoices of sellers to settlement, which pays the seller that opened the channel. */
const payoutSteps = (order: PlacedOrder, id: string): readonly CommandStep[] =>
  isFailed(order)
    ? []
    : order.payoutInvoices
        .filter(({ state }) => state === 'submitted')
        .map(({ attempt, request, paymentHash, payee, amountMsat, expiresAt }) => {
          const data = { request, paymentHash, payee, amountMsat: `${amountMsat}`, expiresAt }
          const submitInvoiceCommand = { type: 'SubmitPayoutInvoice', data } as const
          // The step is numbered by attempt, because a superseded invoice may be submitted again in a later attempt.
          return commandStep(
            `give-payout-${paymentHash}`,
            command<SettlementTarget>('settlement', id, submitInvoiceCommand),
            attempt,
          )
        })
