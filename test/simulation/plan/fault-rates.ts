import type { FaultKind, FaultPlan } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import type { CrashPoint } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import type { Prng } from '@penstock/adapters/deterministic/prng.ts'

/**
 * Rates of late calls. `…Late` is the probability per call that it arrives late. `…Orphan` is the probability that a call of a
 * crashed process still arrives. It is high, because a process rarely crashes during a call.
 */
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

/** Rates of the answers of a node that works, but refuses a payment or does not name a peer. */
const NODE_RATES = { paymentRefused: 0.1, peerUnnamed: 0.05 } as const

/** The probability per call of each kind of fault, in a plan that enables this kind. */
const FAULT_RATES: Readonly<Record<Exclude<FaultKind, keyof typeof LATE_RATES | keyof typeof NODE_RATES>, number>> = {
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

/** Draws the kinds of faults of a plan and their rates. One plan in twenty has no faults. @param lateRandom draws late calls */
export function drawFaults(random: Prng, lateRandom: Prng, nodeRandom: Prng): FaultPlan {
  if (random.chance(0.05)) return {}
  return { ...drawSome(FAULT_RATES, random), ...drawSome(LATE_RATES, lateRandom), ...drawSome(NODE_RATES, nodeRandom) }
}

const drawSome = (rates: Readonly<Partial<Record<FaultKind, number>>>, random: Prng): FaultPlan =>
  Object.fromEntries(
    Object.entries(rates)
      .filter(() => random.chance(0.4))
      .map(([kind, rate]) => [kind, rate * random.pick([0.5, 1, 1, 3])]),
  )

/** Rare calls, each with the probability that a plan crashes the process at it, because random kills rarely hit such a call. */
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

export const drawCrashPoints = (random: Prng): readonly CrashPoint[] =>
  Object.entries(RARE_CALLS).flatMap(([point, chance]) =>
    (['before', 'after'] as const)
      .filter(() => random.chance(chance))
      .map((when) => ({ point, when, visit: random.pick([1, 1, 1, 2, 3]) })),
  )

/** Frequent calls, each with the probability that a plan crashes the process during it. Such a call may then arrive late. */
const IN_FLIGHT_CALLS: Readonly<Record<string, number>> = { 'store.append': 0.3, 'bus.publish': 0.3, 'leases.hold': 0.1 }

export const drawInFlightCrashes = (random: Prng): readonly CrashPoint[] =>
  Object.entries(IN_FLIGHT_CALLS).flatMap(([point, chance]) =>
    random.chance(chance) ? [{ point, when: 'before' as const, visit: random.between(1, 60) }] : [],
  )
