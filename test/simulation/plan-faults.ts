import type { FaultKind, FaultPlan } from '@penstock/adapters/seeded/faults.ts'
import type { Death } from '@penstock/adapters/seeded/mortal.ts'
import type { Random } from '@penstock/adapters/seeded/random.ts'

/** What comes late. An orphan's occasion is a death with the call on its way, which is rare enough. */
const LATE_RATES = {
  appendLate: 0.02,
  appendOrphan: 0.7,
  publishLate: 0.01,
  publishOrphan: 0.7,
  statementLate: 0.01,
  leaseLate: 0.01,
  leaseOrphan: 0.7,
  lightningLate: 0.05,
  lightningOrphan: 0.7,
} as const

/** How often a fault strikes where it is switched on; calls are many and dangerous ones are few. */
const RATES: Readonly<Record<Exclude<FaultKind, keyof typeof LATE_RATES>, number>> = {
  slow: 0.003,
  frozen: 0.0002,
  killBefore: 0.0005,
  killAfter: 0.0005,
  appendFault: 0.01,
  appendUnknown: 0.02,
  readFault: 0.005,
  followCut: 0.01,
  diskFull: 0.001,
  publishFault: 0.01,
  publishUnknown: 0.01,
  publishPartial: 0.01,
  busDrop: 0.02,
  busRepeat: 0.02,
  busSlow: 0.02,
  busRebalance: 0.005,
  queryFault: 0.003,
  commitFault: 0.005,
  commitUnknown: 0.01,
  leaseFault: 0.01,
  leaseUnknown: 0.01,
  lightningFault: 0.02,
  lightningUnknown: 0.03,
  chainFault: 0.02,
  outsideFault: 0.02,
  outsideUnknown: 0.02,
  watchCut: 0.02,
  watchSilent: 0.01,
  watchRepeat: 0.02,
}

/** @param late draws what comes late, in a plan in which anything fails */
export function faultsOf(random: Random, late: Random): FaultPlan {
  if (random.chance(0.05)) return {}
  return { ...someOf(RATES, random), ...someOf(LATE_RATES, late) }
}

const someOf = (rates: Readonly<Partial<Record<FaultKind, number>>>, random: Random): FaultPlan =>
  Object.fromEntries(
    Object.entries(rates)
      .filter(() => random.chance(0.4))
      .map(([kind, rate]) => [kind, rate * random.pick([0.5, 1, 1, 3])]),
  )

/** Calls that so few seeds come to that neither a rate nor an instant finds them, and how often each is fatal in a plan. */
export const RARE_CALLS: Readonly<Record<string, number>> = {
  'leases.release': 0.05,
  'lightning.channels.abandon': 0.2,
  'lightning.channels.bumpFee': 0.3,
  'lightning.channels.changes': 0.02,
  'lightning.channels.closed': 0.02,
  'lightning.channels.list': 0.02,
  'lightning.channels.prepare': 0.03,
  'lightning.channels.publish': 0.03,
  'lightning.graph.between': 0.02,
  'lightning.graph.probe': 0.03,
  'lightning.holds.cancel': 0.03,
  'lightning.holds.changes': 0.02,
  'lightning.holds.create': 0.02,
  'lightning.holds.settle': 0.03,
  'lightning.messages.recover': 0.03,
  'lightning.payments.createInvoice': 0.02,
  'lightning.payments.find': 0.03,
  'lightning.payments.findInvoice': 0.05,
  'lightning.payments.pay': 0.03,
  'lightning.peers.addresses': 0.1,
  'lightning.peers.connect': 0.03,
  'lightning.wallet.inboundSat': 0.02,
  'rates.fixed (simulated)': 0.02,
}

export const fatalCallsOf = (random: Random): readonly Death[] =>
  Object.entries(RARE_CALLS).flatMap(([point, chance]) =>
    (['before', 'after'] as const)
      .filter(() => random.chance(chance))
      .map((when) => ({ point, when, visit: random.pick([1, 1, 1, 2, 3]) })),
  )

/** Calls that every process makes again and again: whoever dies with one on its way may leave it to come late. */
const LEFT_ON_THE_WAY: Readonly<Record<string, number>> = { 'store.append': 0.3, 'bus.publish': 0.3, 'leases.hold': 0.1 }

export const leftOnTheWay = (random: Random): readonly Death[] =>
  Object.entries(LEFT_ON_THE_WAY).flatMap(([point, chance]) =>
    random.chance(chance) ? [{ point, when: 'before' as const, visit: random.between(1, 60) }] : [],
  )
