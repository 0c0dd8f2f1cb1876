import type { ChannelTarget } from '@penstock/contracts/channel.ts'
import type { MatchTarget } from '@penstock/contracts/matching.ts'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import { type CommandStep, commandStep, command } from '@penstock/kernel/process.ts'
import {
  attemptOf,
  isFailed,
  isSettling,
  findLiveAttempt,
  type AcceptedOutpoint,
  type PlacedOrder,
  findPendingSearch,
  type Acknowledgement,
  acknowledgementKeyOf,
} from './state.ts'
import { channelTermsOf } from './terms.ts'

/**
 * A command that a service has to receive whatever happens to the order. It is sent until it is acknowledged, or until another
 * fact shows that it arrived.
 */
export type Notification = { readonly acknowledgement: Acknowledgement; readonly step: CommandStep }

/** @returns the notifications that are not acknowledged yet */
export const listNotifications = (order: PlacedOrder, id: string): readonly Notification[] =>
  [...listMatchNotifications(order, id), ...listChannelNotifications(order, id)].filter(
    ({ acknowledgement }) => !order.acknowledged.includes(acknowledgementKeyOf(acknowledgement)),
  )

export const isAwaited = (order: PlacedOrder, { what, key }: Acknowledgement): boolean =>
  listNotifications(order, '').some(({ acknowledgement }) => acknowledgement.key === key && acknowledgement.what === what)

/**
 * Every search that did not fail ends with a used or released reservation, even if the search is still running. The attempt of a
 * sale stays live, so its reservation is never released.
 */
function listMatchNotifications(order: PlacedOrder, id: string): readonly Notification[] {
  return Array.from({ length: order.lastSearch }, (_, index) => index + 1).flatMap((attempt): Notification[] => {
    if (isReserved(order, attempt) || order.failedSearch?.attempt === attempt) return []
    const reason = order.endReason ?? 'The attempt is over'
    const requestNumber = nextReleaseRequest(order, attempt)
    const releaseCommand = { type: 'ReleaseMatch', data: { attempt, requestNumber, reason } } as const
    const step = commandStep(`release-match-${attempt}`, command<MatchTarget>('match', id, releaseCommand), requestNumber)
    return [{ acknowledgement: { what: 'match-released', key: `${attempt}` }, step }]
  })
}

/** The number of the attempt's next release request. Each requested renewal of the reservation increases it. */
export const nextReleaseRequest = (order: PlacedOrder, attempt: number): number => (attemptOf(order, attempt)?.renewals ?? 0) + 1

const isReserved = (order: PlacedOrder, attempt: number): boolean =>
  findLiveAttempt(order)?.number === attempt || order.pendingOutpoint?.attempt === attempt || findPendingSearch(order) === attempt

function listChannelNotifications(order: PlacedOrder, id: string): readonly Notification[] {
  const { outpoint: accepted } = order
  if (!accepted || order.status === 'CHANNEL_MONITORING_FINISHED') return []
  if (isFailed(order)) {
    const stopCommand = { type: 'StopWatch', data: { reason: order.endReason ?? 'The order has ended' } } as const
    return [
      {
        acknowledgement: { what: 'watch-stopped', key: '1' },
        step: commandStep('stop-watch', command<ChannelTarget>('channel', id, stopCommand)),
      },
    ]
  }
  return [...listWatchNotifications(order, accepted, id), ...listAttestationNotifications(order, accepted, id)]
}

function listWatchNotifications(order: PlacedOrder, accepted: AcceptedOutpoint, id: string): readonly Notification[] {
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
  const watchNotification: Notification = {
    acknowledgement: { what: 'watch-started', key: outpoint },
    step: commandStep(`watch-${number}`, command<ChannelTarget>('channel', id, { type: 'WatchOutpoint', data })),
  }
  return hasWatchReported(order, accepted) ? [] : [watchNotification]
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
function listAttestationNotifications(order: PlacedOrder, accepted: AcceptedOutpoint, id: string): readonly Notification[] {
  const { outpoint, attestation, hasLateAttestation } = accepted
  if (!attestation || !hasLateAttestation) return []
  const keepCommand = { type: 'KeepAttestation', data: { outpoint, attestation, outpointNumber: accepted.number } } as const
  const keepNotification: Notification = {
    acknowledgement: { what: 'attestation-kept', key: outpoint },
    step: commandStep(`keep-attestation-${accepted.number}`, command<ChannelTarget>('channel', id, keepCommand)),
  }
  const registerNotification: Notification = {
    acknowledgement: { what: 'attestation-registered', key: outpoint },
    step: registerOutpointStep(order, accepted, id),
  }
  // This notification waits while another outpoint is pending, because it would replace that outpoint at settlement.
  const isProvable = !order.closing && !order.pendingOutpoint && order.hold === 'held'
  return isProvable ? [keepNotification, registerNotification] : [keepNotification]
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
