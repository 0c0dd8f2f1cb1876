import { type GaugeReader, createSampledGauge, type GaugeReading } from '@penstock/runtime/observability/gauges.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import { lastHeightOfHold } from '../../hold/heights.ts'
import { owedMsat } from '../../payout/ledger.ts'
import { payableInvoice } from '../../payout/payout.decide.ts'
import { isOwing, type Settlement } from '../../state.ts'
import { isUndecided } from '../../payout/withholding.decide.ts'
import type { GuardState, GuardSnapshot } from './guard-state.ts'
import { ordersOnOtherNode } from '../node-binding.ts'
import type { SettlementPorts } from '../ports.ts'

const holds = createSampledGauge('penstock_holds', 'Holds that are not settled or cancelled yet, by status.', ['status'])
const heldSat = createSampledGauge('penstock_held_sat', 'Satoshis of held payments that are neither settled nor cancelled.')
const blocksLeft = createSampledGauge(
  'penstock_hold_blocks_left_min',
  'Fewest blocks until a held payment must be settled or cancelled; absent if no payment is held.',
)
const heldByBlocks = createSampledGauge(
  'penstock_holds_by_blocks_left',
  'Held payments with at most this number of blocks left; `any` counts all.',
  ['at_most'],
)
const payables = createSampledGauge('penstock_payables', 'Unpaid payouts, by the reason for the wait.', ['state'])
const payableSat = createSampledGauge('penstock_payable_sat', 'Satoshis of unpaid payouts.')
const payableAge = createSampledGauge(
  'penstock_payable_oldest_seconds',
  'Time since the hold of the oldest unpaid payout ended, by the reason for the wait; 0 if there is none.',
  ['state'],
)
const guardedAt = createSampledGauge(
  'penstock_guard_last_round_timestamp_seconds',
  'End of the last guard round without a failure, in seconds since 1970; no value before the first such round.',
)
const holdsUnread = createSampledGauge(
  'penstock_holds_unread',
  'Orders whose stream the guard could not read in its last round; their values are from an earlier round, if any.',
)
const holdsElsewhere = createSampledGauge(
  'penstock_holds_elsewhere',
  'Open orders that need another Lightning node than the connected one.',
)

const OPEN_STATUSES: ReadonlySet<string> = new Set(['requested', 'open', 'held', 'settling', 'cancelling'])
const BLOCK_BOUNDS = [6, 24, 72, 144, 288]
const PAYABLE_STATES = ['confirming', 'withheld', 'undecided', 'owed_to_buyer', 'without_invoice', 'paying', 'retrying'] as const

export const gaugesJob = ({ snapshot }: Pick<GuardState, 'snapshot'>): ServiceJob<SettlementPorts> => ({
  name: 'gauges',
  async run({ ports: { gauges, clock } }, signal) {
    if (!gauges || signal.aborted) return
    const read: GaugeReader = async () => (snapshot.last ? readGauges(snapshot.last, clock.now()) : [])
    const unwatch = gauges.addReader(read)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    unwatch()
  },
})

export function readGauges(snapshot: GuardSnapshot, now: number): readonly GaugeReading[] {
  const { orders, height, unread: notRead, at } = snapshot
  const all = [...orders.values()]
  const heldNow = all.filter(({ hold }) => hold.status === 'held' || hold.status === 'settling')
  const left = heldNow.map(({ hold }) => (lastHeightOfHold(hold) ?? height) - height)
  const unpaid = all.filter((settlement) => isOwing(settlement) && !settlement.payout.paid)
  return [
    ...(at === null ? [] : [{ gauge: guardedAt, value: at / 1000 }]),
    { gauge: holdsUnread, value: notRead },
    { gauge: holdsElsewhere, value: ordersOnOtherNode(snapshot, now).length },
    ...[...OPEN_STATUSES].map((status) => ({
      gauge: holds,
      labels: { status },
      value: count(all, ({ hold }) => hold.status === status),
    })),
    { gauge: heldSat, value: sat(heldNow.map(({ hold }) => hold.payment?.receivedMsat ?? 0n)) },
    ...(left.length > 0 ? [{ gauge: blocksLeft, value: Math.min(...left) }] : []),
    ...BLOCK_BOUNDS.map((most) => ({
      gauge: heldByBlocks,
      labels: { at_most: `${most}` },
      value: count(left, (blocks) => blocks <= most),
    })),
    { gauge: heldByBlocks, labels: { at_most: 'any' }, value: left.length },
    { gauge: payableSat, value: sat(unpaid.map(({ balances }) => owedMsat(balances))) },
    ...PAYABLE_STATES.flatMap((state) =>
      readPayables(
        state,
        unpaid.filter((settlement) => payableState(settlement, height) === state),
        now,
      ),
    ),
  ]
}

const readPayables = (state: string, waiting: readonly Settlement[], now: number): readonly GaugeReading[] => [
  { gauge: payables, labels: { state }, value: waiting.length },
  {
    gauge: payableAge,
    labels: { state },
    value: Math.max(0, ...waiting.map(({ hold }) => (now - (hold.settledAt ?? hold.cancelled?.at ?? now)) / 1000)),
  },
]

function payableState(settlement: Settlement, height: number): (typeof PAYABLE_STATES)[number] {
  const { payout } = settlement
  if (payout.paying) return 'paying'
  if (payout.creditor === 'buyer' && !payableInvoice(settlement)) return 'owed_to_buyer'
  if (isUndecided(payout, height)) return 'undecided'
  if (!payout.released) return Object.keys(payout.withheld).length === 0 ? 'confirming' : 'withheld'
  return payout.retryAt === null ? 'without_invoice' : 'retrying'
}

const count = <T>(items: readonly T[], is: (item: T) => boolean): number => items.filter(is).length
const sat = (amounts: readonly bigint[]): number => Number(amounts.reduce((sum, msat) => sum + msat, 0n) / 1000n)
