import type { ChannelTarget } from '@penstock/contracts/channel.ts'
import type { CommandDataByName, CommandName } from '@penstock/contracts/contracts.ts'
import type { MatchTarget } from '@penstock/contracts/matching.ts'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import { type CommandStep, commandStep, command } from '@penstock/kernel/process.ts'
import {
  attemptOf,
  isFailed,
  isSettling,
  isValid,
  findLiveAttempt,
  type AcceptedOutpoint,
  type PlacedOrder,
  findPendingSearch,
  WATCH_STOPPED,
} from './state.ts'
import { channelTermsOf } from './terms.ts'

/**
 * Commands that a service has to receive whatever happens to the order. They are sent until they are handled, and no fact of the
 * order records that. If the order needs a result, the receiver reports it.
 */
export const notificationTypes = [
  'settlement.CancelHold',
  'settlement.RegisterOutpoint',
  'match.ReleaseMatch',
  'match.UseMatch',
  'channel.WatchOutpoint',
  'channel.KeepAttestation',
  'channel.StopWatch',
  'channel.StartLease',
] as const satisfies readonly CommandName[]

/** The lease follows the command to watch, because it needs the watch. */
export const notificationSteps = (order: PlacedOrder, id: string): readonly CommandStep[] => [
  ...holdNotifications(order, id),
  ...matchNotifications(order, id),
  ...channelNotifications(order, id),
]

/** If the order ended before its invoice was issued, settlement issues no invoice, or cancels the issued invoice. */
const holdNotifications = (order: PlacedOrder, id: string): readonly CommandStep[] =>
  isFailed(order) && order.hold === 'asked' ? [cancelHoldStep(id, { sentence: order.endReason ?? 'The order has ended' })] : []

export const cancelHoldStep = (id: string, data: CommandDataByName<'settlement.CancelHold'> & object): CommandStep =>
  commandStep('cancel-hold', command<SettlementTarget>('settlement', id, { type: 'CancelHold', data }))

/**
 * Every search that did not fail ends with a used or released reservation, even if the search is still running. A match that was
 * released while the order was closing is used too, because settlement settled the hold.
 */
function matchNotifications(order: PlacedOrder, id: string): readonly CommandStep[] {
  return Array.from({ length: order.lastSearch }, (_, index) => index + 1).flatMap((attempt) => {
    if (isValid(order) && order.outpoint?.attempt === attempt)
      return [commandStep(`use-match-${attempt}`, command<MatchTarget>('match', id, { type: 'UseMatch', data: { attempt } }))]
    if (isReserved(order, attempt) || order.failedSearch?.attempt === attempt) return []
    const reason = order.endReason ?? 'The attempt is over'
    const requestNumber = nextReleaseRequest(order, attempt)
    const releaseCommand = { type: 'ReleaseMatch', data: { attempt, requestNumber, reason } } as const
    return [commandStep(`release-match-${attempt}`, command<MatchTarget>('match', id, releaseCommand), requestNumber)]
  })
}

/** The number of the attempt's next release request. Each requested renewal of the reservation increases it. */
export const nextReleaseRequest = (order: PlacedOrder, attempt: number): number => (attemptOf(order, attempt)?.renewals ?? 0) + 1

const isReserved = (order: PlacedOrder, attempt: number): boolean =>
  findLiveAttempt(order)?.number === attempt || order.pendingOutpoint?.attempt === attempt || findPendingSearch(order) === attempt

function channelNotifications(order: PlacedOrder, id: string): readonly CommandStep[] {
  const { outpoint: accepted, status } = order
  if (!accepted || status === 'CHANNEL_MONITORING_FINISHED') return []
  if (isFailed(order)) {
    const data = { reason: order.endReason ?? 'The order has ended' }
    return order.acknowledged.includes(WATCH_STOPPED)
      ? []
      : [commandStep('stop-watch', command<ChannelTarget>('channel', id, { type: 'StopWatch', data }))]
  }
  const { outpoint } = accepted
  const startLease = command<ChannelTarget>('channel', id, { type: 'StartLease', data: { outpoint } })
  return [
    ...(hasWatchReported(order, accepted) ? [] : [watchStep(order, accepted, id)]),
    ...(status === 'VALID_CHANNEL_OPENING' ? [commandStep('start-lease', startLease)] : []),
    ...attestationNotifications(order, accepted, id),
  ]
}

function watchStep(order: PlacedOrder, accepted: AcceptedOutpoint, id: string): CommandStep {
  const { attempt, outpoint, attestation, number } = accepted
  const { leaseBlocks, policy } = order.terms
  const { fundingSeenBlocks, fundingConfirmsWithinBlocks } = policy
  const { baseFeeCapSat, feeRateCapPpm } = candidateOf(order, attempt).promises
  const data = {
    attempt,
    outpoint,
    terms: termsOf(order, attempt),
    attestation,
    fundingSeenBlocks,
    fundingConfirmsWithinBlocks,
    leaseBlocks,
    feeCaps: { baseFeeCapSat, feeRateCapPpm },
    outpointNumber: number,
    ...seenBeforeOf(order, attempt),
  }
  return commandStep(`watch-${number}`, command<ChannelTarget>('channel', id, { type: 'WatchOutpoint', data }))
}

/**
 * Whether a fact shows that the watch of the accepted outpoint runs. Its first report ends SELLER_SENT_TRANSACTION. Settlement
 * may settle before the watch has reported anything; then only a confirmation shows it.
 */
const hasWatchReported = (order: PlacedOrder, accepted: AcceptedOutpoint): boolean =>
  accepted.confirmation !== null || (order.status !== 'SELLER_SENT_TRANSACTION' && !isSettling(order))

/** `seenBefore` of the submission window that settlement computed for the attempt. */
function seenBeforeOf(order: PlacedOrder, attempt: number): { readonly seenBefore?: number } {
  const window = attemptOf(order, attempt)?.window
  return window ? { seenBefore: window.seenBefore } : {}
}

/**
 * The watcher stores a late attestation, and settlement registers it. Any other attestation was registered with its outpoint,
 * and the watcher receives it with the outpoint.
 */
function attestationNotifications(order: PlacedOrder, accepted: AcceptedOutpoint, id: string): readonly CommandStep[] {
  const { outpoint, attestation, hasLateAttestation, number } = accepted
  if (!attestation || !hasLateAttestation) return []
  const keep = { type: 'KeepAttestation', data: { outpoint, attestation, outpointNumber: number } } as const
  const keepStep = commandStep(`keep-attestation-${number}`, command<ChannelTarget>('channel', id, keep))
  // The registration waits while another outpoint is pending, because it would replace that outpoint at settlement.
  const isProvable = !order.closing && !order.pendingOutpoint && order.hold === 'held'
  return isProvable ? [keepStep, registerOutpointStep(order, accepted, id)] : [keepStep]
}

type RegistrableOutpoint = Pick<AcceptedOutpoint, 'number' | 'attempt' | 'outpoint' | 'attestation'>

/** The step runs once without and once with the attestation, so that settlement registers a late attestation too. */
export function registerOutpointStep(
  order: PlacedOrder,
  { number, attempt, outpoint, attestation }: RegistrableOutpoint,
  id: string,
): CommandStep {
  const { sellerAmountMsat } = candidateOf(order, attempt)
  const { fundingSeenBlocks } = order.terms.policy
  const terms = termsOf(order, attempt)
  const registration = { attempt, outpoint, terms, sellerAmountMsat, attestation, outpointNumber: number, fundingSeenBlocks }
  const { window, outpoints } = attemptOf(order, attempt) ?? { window: null, outpoints: [] }
  // An outpoint to which the seller returns is not new, so it is sent without the window.
  const data = window && !outpoints.includes(outpoint) ? { ...registration, window } : registration
  return commandStep(
    `note-outpoint-${number}`,
    command<SettlementTarget>('settlement', id, { type: 'RegisterOutpoint', data }),
    attestation ? 2 : 1,
  )
}

const candidateOf = (order: PlacedOrder, attempt: number) => attemptOf(order, attempt)?.candidate ?? order.terms.candidate

const termsOf = (order: PlacedOrder, attempt: number) =>
  channelTermsOf(order.terms, candidateOf(order, attempt), order.heldAtHeight)
