import { type LoadClock, sleepUntil } from '../load-clock.ts'
import { toKnownRequestError } from './order-scenario.ts'
import type { OperatorApi } from '../market/load-market.ts'
import { type RandomGenerator, createRandomGenerator } from './random.ts'
import { type SellerBehaviourOption, drawFromMix, type Mix } from './mix.ts'
import type { LoadCounters } from '../measurements/counters.ts'
import type { SimNetworkNode } from '../market/targets.ts'

/** Long enough for several orders, and short enough for several changes of behaviour in a run. */
const CHANGE_INTERVAL_MS = 5000
const FAILURES = ['wrong-size', 'wrong-peer', 'vanish'] as const

/** @returns a value of `penstock sim behave`; for `fails`, a random failure that the market detects soon */
const chooseSimBehaviour = (behaviour: SellerBehaviourOption, random: RandomGenerator): string => {
  if (behaviour === 'good') return 'ok'
  return behaviour === 'fails' ? (FAILURES[Math.floor(random() * FAILURES.length)] ?? 'vanish') : behaviour
}

type BehaviourRun = {
  readonly seed: number
  readonly counters: LoadCounters
  readonly clock: LoadClock
  readonly signal: AbortSignal
}

/** Gives each seller of the simulated network a random behaviour at a fixed interval, until the signal aborts. */
export async function varySellerBehaviour(
  operator: OperatorApi,
  sellers: readonly SimNetworkNode[],
  shares: Mix<SellerBehaviourOption>,
  { seed, counters, clock, signal }: BehaviourRun,
): Promise<void> {
  const random = createRandomGenerator(seed)
  for (let changeAt = clock.monotonicMs(); await sleepUntil(clock, changeAt, signal); changeAt += CHANGE_INTERVAL_MS)
    for (const { alias } of sellers)
      await setSellerBehaviour(operator, alias, chooseSimBehaviour(drawFromMix(shares, random), random), counters)
}

/** Sets all sellers back to good behaviour. */
export async function resetSellerBehaviour(
  operator: OperatorApi,
  sellers: readonly SimNetworkNode[],
  counters: LoadCounters,
): Promise<void> {
  for (const { alias } of sellers) await setSellerBehaviour(operator, alias, 'ok', counters)
}

const setSellerBehaviour = async (operator: OperatorApi, alias: string, how: string, counters: LoadCounters): Promise<void> => {
  try {
    await operator('POST', '/sim/behave', { alias, how })
  } catch (error) {
    counters.recordError('sellers', toKnownRequestError(error))
  }
}
