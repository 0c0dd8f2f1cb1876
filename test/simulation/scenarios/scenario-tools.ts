import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import { type Trigger, type Injection, type InjectionName, drawInjection } from '../plan/triggers.ts'
import type { SellerAnswer, SimulationPlan, SimulatedPurchase, PlannedSeller } from '../plan/plan.ts'

/**
 * The parts of a plan that produce a rare situation: a few orders with injections at critical moments. The seed chooses a variant
 * of the scenario, so many seeds cover all variants.
 */
export type Scenario = Partial<
  Pick<
    SimulationPlan,
    'purchases' | 'sellers' | 'networkEvents' | 'operatorActions' | 'triggers' | 'faults' | 'skewMs' | 'network' | 'workloadMs'
  >
>

/** Injections follow their trigger within this time in milliseconds, unless a scenario gives another delay. */
const MAX_DELAY_MS = 120

type InjectionTiming = { readonly at?: number | readonly [number, number]; readonly amount?: number | readonly [number, number] }

export function createScenarioTools(draws: Prng) {
  const pick = <const T>(...list: readonly T[]): T => draws.pick(list)
  const pickValue = (input: number | readonly [number, number]): number =>
    typeof input === 'number' ? input : draws.between(input[0], input[1])
  const inject = (name: InjectionName, { at = [0, MAX_DELAY_MS], amount }: InjectionTiming = {}): Injection => {
    const drawnInjection = drawInjection(draws, name)
    return { name, afterMs: pickValue(at), amount: amount === undefined ? drawnInjection.amount : pickValue(amount) }
  }
  const onFact = (fact: string, ...injections: readonly Injection[]): Trigger => ({ factType: fact, nth: 1, injections })
  const maybe = <T extends Injection | Trigger>(...items: readonly T[]): readonly T[] => (draws.chance(0.5) ? items : [])
  const purchase = (input: Partial<SimulatedPurchase> = {}): SimulatedPurchase => ({
    atMs: 100,
    buyer: 'buyer',
    api: 'buy',
    options: { private: false, rails_cluster_only: false },
    usdCents: draws.between(600, 2000),
    afterwards: 'pay',
    afterMs: 50,
    confirmations: 3,
    ...input,
  })
  /** The seller's agent is down from the start of the attempt, so it does not open the channel. */
  const agentAway: readonly Trigger[] = [
    onFact('order AttemptStarted', inject('the agent dies', { at: 0, amount: [6000, 9000] })),
  ]
  /** The seller opens a channel without its agent, and submits its outpoint after the order has requested the opening. */
  const openManually = (
    injection: InjectionName = 'the seller names a fresh channel',
    timing: InjectionTiming = { amount: 0 },
  ): readonly Trigger[] => [...agentAway, onFact('order ChannelOpenRequested', inject(injection, timing))]
  const raiseFees = (): Injection => inject('blocks get dear', { at: 0, amount: [1000, 4000] })
  return { pick, inject, onFact, maybe, purchase, agentAway, openManually, raiseFees, draws }
}
export type ScenarioTools = ReturnType<typeof createScenarioTools>

/** Facts of a channel watch, in their sequence in a normal sale. */
export const WATCH_FACTS = [
  'channel WatchStarted',
  'channel FundingSeen',
  'channel FundingMissing',
  'channel FundingConfirmed',
  'channel ConfirmationsReached',
] as const
/** Facts of an order, in their sequence in a normal sale. */
export const SALE_FACTS = [
  'order OrderPlaced',
  'order SellerAccepted',
  'order HoldIssuedRecorded',
  'order PaymentHeld',
  'order AttemptStarted',
  'order ChannelOpenRequested',
  'order OutpointAccepted',
  'order FundingSeenRecorded',
  'order FundingConfirmedRecorded',
  'order ChannelOpened',
  'order SettlingStarted',
  'order OrderValid',
] as const
/** @returns two sellers with standing acceptance, and a third that gives this answer to each order */
export const sellersWith = (answer: SellerAnswer): readonly PlannedSeller[] => [
  { alias: 'seller-ada', acceptsAutomatically: true, answer: 'accepts', isScarce: false },
  { alias: 'seller-bob', acceptsAutomatically: true, answer: 'accepts', isScarce: false },
  { alias: 'seller-cleo', acceptsAutomatically: false, answer, isScarce: false },
]
export const CHANNEL_KINDS = ['fresh', 'small', 'dear'] as const
export const onNth = (trigger: Trigger, count: number): Trigger => ({ ...trigger, nth: count })
