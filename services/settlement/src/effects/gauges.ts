import { type Look, lookedUp, type Reading } from '@penstock/runtime/gauges.ts'
import type { Job } from '@penstock/runtime/service.ts'
import { lastHeightOf } from '../heights.ts'
import { owedMsat } from '../ledger.ts'
import { payableInvoice } from '../payout.decide.ts'
import { isOwing, type Settlement } from '../state.ts'
import { isUndecided } from '../withholding.decide.ts'
import type { Custody, Sight } from './custody.ts'
import { strandedIn } from './own-node.ts'
import type { SettlementPorts } from './ports.ts'

const holds = lookedUp('penstock_holds', 'Holds that are not settled or cancelled yet, by status.', ['status'])
const held = lookedUp('penstock_held_sat', 'What buyers have paid and nobody has got yet.')
const blocksLeft = lookedUp(
  'penstock_hold_blocks_left_min',
  'Blocks until the hold that has the fewest must be settled or cancelled; no figure where nothing is held.',
)
const heldByBlocks = lookedUp(
  'penstock_holds_by_blocks_left',
  'Held payments that have at most so many blocks left; `+Inf` counts all.',
  ['le'],
)
const payables = lookedUp('penstock_payables', 'Sellers’ shares that are not paid, by what they wait for.', ['state'])
const payableSat = lookedUp('penstock_payable_sat', 'What sellers are owed.')
const payableAge = lookedUp(
  'penstock_payable_oldest_seconds',
  'For how long the oldest unpaid share of a seller is due, by what it waits for; 0 where none does.',
  ['state'],
)
const guardedAt = lookedUp(
  'penstock_guard_last_round_timestamp_seconds',
  'When the guard of holds last went through all of them and nothing failed, in seconds since 1970; no figure before.',
)
const unread = lookedUp(
  'penstock_holds_unread',
  'Orders whose stream the guard could not read in its last round; their figures are those of the last time, if any.',
)
const stranded = lookedUp(
  'penstock_holds_elsewhere',
  'Open orders whose money is at another Lightning node than the one that is connected.',
)

const OPEN: ReadonlySet<string> = new Set(['requested', 'open', 'held', 'settling', 'cancelling'])
const BOUNDS = [6, 24, 72, 144, 288]
const PAYABLE = ['confirming', 'withheld', 'undecided', 'owed_to_buyer', 'without_invoice', 'paying', 'retrying'] as const

export const gaugesJob = ({ sight }: Pick<Custody, 'sight'>): Job<SettlementPorts> => ({
  name: 'gauges',
  async run({ ports: { gauges, clock } }, signal) {
    if (!gauges || signal.aborted) return
    const look: Look = async () => (sight.last ? readings(sight.last, clock.now()) : [])
    const unwatch = gauges.watch(look)
    await new Promise<void>((over) => signal.addEventListener('abort', () => over(), { once: true }))
    unwatch()
  },
})

export function readings(sight: Sight, now: number): readonly Reading[] {
  const { orders, height, unread: notRead, at } = sight
  const all = [...orders.values()]
  const heldNow = all.filter(({ hold }) => hold.status === 'held' || hold.status === 'settling')
  const left = heldNow.map(({ hold }) => (lastHeightOf(hold) ?? height) - height)
  const unpaid = all.filter((money) => isOwing(money) && !money.payout.paid)
  return [
    ...(at === null ? [] : [{ gauge: guardedAt, value: at / 1000 }]),
    { gauge: unread, value: notRead },
    { gauge: stranded, value: strandedIn(sight, now).length },
    ...[...OPEN].map((status) => ({ gauge: holds, labels: { status }, value: count(all, ({ hold }) => hold.status === status) })),
    { gauge: held, value: sat(heldNow.map(({ hold }) => hold.payment?.receivedMsat ?? 0n)) },
    ...(left.length > 0 ? [{ gauge: blocksLeft, value: Math.min(...left) }] : []),
    ...BOUNDS.map((le) => ({ gauge: heldByBlocks, labels: { le: `${le}` }, value: count(left, (blocks) => blocks <= le) })),
    { gauge: heldByBlocks, labels: { le: '+Inf' }, value: left.length },
    { gauge: payableSat, value: sat(unpaid.map(({ balances }) => owedMsat(balances))) },
    ...PAYABLE.flatMap((state) =>
      payable(
        state,
        unpaid.filter((money) => payableState(money, height) === state),
        now,
      ),
    ),
  ]
}

const payable = (state: string, waiting: readonly Settlement[], now: number): readonly Reading[] => [
  { gauge: payables, labels: { state }, value: waiting.length },
  {
    gauge: payableAge,
    labels: { state },
    value: Math.max(0, ...waiting.map(({ hold }) => (now - (hold.settledAt ?? hold.cancelled?.at ?? now)) / 1000)),
  },
]

function payableState(money: Settlement, height: number): (typeof PAYABLE)[number] {
  const { payout } = money
  if (payout.paying) return 'paying'
  if (payout.creditor === 'buyer' && !payableInvoice(money)) return 'owed_to_buyer'
  if (isUndecided(payout, height)) return 'undecided'
  if (!payout.released) return Object.keys(payout.withheld).length === 0 ? 'confirming' : 'withheld'
  return payout.retryAt === null ? 'without_invoice' : 'retrying'
}

const count = <T>(items: readonly T[], is: (item: T) => boolean): number => items.filter(is).length
const sat = (amounts: readonly bigint[]): number => Number(amounts.reduce((sum, msat) => sum + msat, 0n) / 1000n)
