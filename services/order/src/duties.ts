import type { ChannelCommand } from '@penstock/contracts/channel.ts'
import type { MatchCommand } from '@penstock/contracts/matching.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { type CommandStep, tell } from '@penstock/kernel/process.ts'
import { attemptOf, isFailed, isValid, liveAttempt, type Named, type Placed, searching, type Told, toldKey } from './state.ts'
import { channelTerms } from './terms.ts'

/** Somebody has to know, whatever becomes of the order: asked until the answer was taken down. */
export type Duty = { readonly told: Told; readonly step: CommandStep }

/** @returns whom the order still has to tell something, and what their answer is taken down as */
export const duties = (order: Placed, id: string): readonly Duty[] =>
  [...holdDuties(order, id), ...matchDuties(order, id), ...channelDuties(order, id)].filter(
    ({ told }) => !order.told.includes(toldKey(told)),
  )

export const isAwaited = (order: Placed, { what, key }: Told): boolean =>
  duties(order, '').some(({ told }) => told.key === key && told.what === what)

// An order that ended before its invoice came: the invoice is not to come, or is cancelled.
const holdDuties = (order: Placed, id: string): readonly Duty[] =>
  isFailed(order) && order.hold === 'asked'
    ? [
        {
          told: { what: 'hold-closed', key: '1' },
          step: tell<SettlementCommand>('settlement', id, 'cancel-hold', {
            type: 'CancelHold',
            data: { sentence: order.ending ?? 'The order has ended' },
          }),
        },
      ]
    : []

/** Every search that did not fail ends with its reservation used or released, also one that still goes on. */
function matchDuties(order: Placed, id: string): readonly Duty[] {
  return Array.from({ length: order.searched }, (_, index) => index + 1).flatMap((attempt): Duty[] => {
    if (isValid(order) && order.named?.attempt === attempt) {
      // Also where it was given back while the order was closing, before settlement took the money after all.
      const step = tell<MatchCommand>('match', id, `use-match-${attempt}`, { type: 'UseMatch', data: { attempt } })
      return [{ told: { what: 'match-used', key: `${attempt}` }, step }]
    }
    if (isReserved(order, attempt) || order.unmatched?.attempt === attempt) return []
    const reason = order.ending ?? 'The attempt is over'
    const question = releaseQuestion(order, attempt)
    const release = { type: 'ReleaseMatch', data: { attempt, question, reason } } as const
    const step = tell<MatchCommand>('match', id, `release-match-${attempt}`, release, question)
    return [{ told: { what: 'match-released', key: `${attempt}` }, step }]
  })
}

/** Which release of an attempt is to be asked for next: one more each time that its capacity was asked for again. */
export const releaseQuestion = (order: Placed, attempt: number): number => (attemptOf(order, attempt)?.rereserved ?? 0) + 1

const isReserved = (order: Placed, attempt: number): boolean =>
  liveAttempt(order)?.number === attempt || order.offered?.attempt === attempt || searching(order) === attempt

function channelDuties(order: Placed, id: string): readonly Duty[] {
  const { named } = order
  if (!named || order.status === 'CHANNEL_MONITORING_FINISHED') return []
  if (isFailed(order)) {
    const stop = { type: 'StopWatch', data: { reason: order.ending ?? 'The order has ended' } } as const
    return [{ told: { what: 'watch-stopped', key: '1' }, step: tell<ChannelCommand>('channel', id, 'stop-watch', stop) }]
  }
  return [...watchDuties(order, named, id), ...attestationDuties(order, named, id)]
}

function watchDuties(order: Placed, named: Named, id: string): readonly Duty[] {
  const { attempt, outpoint, attestation, number } = named
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
    naming: number,
    ...seenBeforeOf(order, attempt),
  }
  const watch: Duty = {
    told: { what: 'watch-started', key: outpoint },
    step: tell<ChannelCommand>('channel', id, `watch-${number}`, { type: 'WatchOutpoint', data }),
  }
  if (order.status !== 'VALID_CHANNEL_OPENING') return [watch]
  const lease = tell<ChannelCommand>('channel', id, 'start-lease', { type: 'StartLease', data: { outpoint } })
  return [watch, { told: { what: 'lease-started', key: outpoint }, step: lease }]
}

/** By settlement's heights, which the permit to publish is made of too. */
function seenBeforeOf(order: Placed, attempt: number): { readonly seenBefore?: number } {
  const window = attemptOf(order, attempt)?.window
  return window ? { seenBefore: window.seenBefore } : {}
}

/** An attestation that came after the naming. */
function attestationDuties(order: Placed, named: Named, id: string): readonly Duty[] {
  const { outpoint, attestation, isAttestedSince } = named
  if (!attestation) return []
  const keep = { type: 'KeepAttestation', data: { outpoint, attestation, naming: named.number } } as const
  const kept: Duty = {
    told: { what: 'attestation-kept', key: outpoint },
    step: tell<ChannelCommand>('channel', id, `keep-attestation-${named.number}`, keep),
  }
  const note: Duty = { told: { what: 'attestation-noted', key: outpoint }, step: noteOutpoint(order, named, id) }
  // Not while another outpoint is being noted: the note of this one would take its place.
  const isProvable = !order.closing && !order.offered && order.hold === 'held'
  return [...(isAttestedSince ? [kept] : []), ...(isProvable ? [note] : [])]
}

type Noting = Pick<Named, 'number' | 'attempt' | 'outpoint' | 'attestation'>

/** Asked once with and once without the attestation, so that one which comes later is noted too. */
export function noteOutpoint(order: Placed, { number, attempt, outpoint, attestation }: Noting, id: string): CommandStep {
  const { sellerAmountMsat } = candidateOf(order, attempt)
  const { fundingSeenBlocks } = order.terms.policy
  const terms = termsOf(order, attempt)
  const noted = { attempt, outpoint, terms, sellerAmountMsat, attestation, naming: number, fundingSeenBlocks }
  const { window, outpoints } = attemptOf(order, attempt) ?? { window: null, outpoints: [] }
  // A seller that goes back to an earlier outpoint names none that is new.
  const data = window && !outpoints.includes(outpoint) ? { ...noted, window } : noted
  return tell<SettlementCommand>('settlement', id, `note-outpoint-${number}`, { type: 'NoteOutpoint', data }, attestation ? 2 : 1)
}

const candidateOf = (order: Placed, attempt: number) => attemptOf(order, attempt)?.candidate ?? order.terms.candidate

const termsOf = (order: Placed, attempt: number) => channelTerms(order.terms, candidateOf(order, attempt), order.heldAtHeight)
