import { channelContract } from '@penstock/contracts/channel.ts'
import { matchContract } from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { settlementContract } from '@penstock/contracts/settlement.ts'
import type { Prng } from '@penstock/adapters/deterministic/prng.ts'

/** An action on an order. The unit of `amount` depends on the injection, such as blocks or milliseconds. */
export type Injection = { readonly name: InjectionName; readonly afterMs: number; readonly amount: number }

/** Starts injections on the order of the nth fact of a type (`<category> <type>`). */
export type Trigger = { readonly factType: string; readonly nth: number; readonly injections: readonly Injection[] }

/** Every injection with its relative frequency, its minimum amount and its maximum amount. */
export const INJECTIONS = {
  'the operator closes the order': [4, 0, 0],
  'the buyer cancels': [2, 0, 0],
  'the buyer pays again': [1, 0, 0],
  'the seller cannot reach the buyer': [2, 0, 0],
  'the seller gives up': [3, 0, 0],
  'the seller rejects': [1, 0, 0],
  'the seller gives an invoice': [4, 0, 0],
  'the seller gives an invoice twice': [3, 0, 0],
  'the buyer asks for its money': [2, 0, 1],
  'the operator decides a payout': [3, 0, 2],
  'the operator retries a payout': [1, 0, 0],
  'the seller names a fresh channel': [8, 0, 3],
  'the seller names a dear channel': [2, 0, 3],
  'the seller names a small channel': [2, 0, 3],
  'the seller names what is nowhere': [4, 0, 3],
  "the seller names another's channel": [2, 0, 3],
  'the seller goes back to an outpoint': [4, 0, 3],
  'the seller attests': [5, 0, 0],
  'the seller attests falsely': [3, 0, 1],
  'the offer is toggled': [4, 0, 0],
  'the offer gets new terms': [3, 0, 0],
  'the offer is disabled': [3, 0, 0],
  'the offers are enabled': [2, 0, 0],
  'the seller is granted': [1, 0, 0],
  'the seller loses its grant': [1, 0, 0],
  'blocks are mined': [4, 1, 12],
  'the last height comes': [4, -3, 16],
  'a re-org': [5, 1, 7],
  'a re-org with the same transactions': [3, 1, 7],
  'the funding is evicted': [4, 0, 0],
  'the funding is forgotten': [4, 0, 1500],
  'the sale is undone': [3, 0, 0],
  'blocks get dear': [1, 300, 4000],
  'the channel is closed': [4, 0, 1],
  'the node is away': [3, 300, 6000],
  'the buyer is away': [4, 300, 6000],
  'the seller is away': [4, 300, 9000],
  'the buyer keeps probes': [3, 1000, 9000],
  'the node cancels the hold': [3, 0, 0],
  'the agent dies': [2, 300, 6000],
  'a replica of order stands still': [2, 300, 5000],
  'one of order stands still, the other dies': [1, 300, 1500],
  'settlement stands still': [1, 300, 3000],
  'order hears settlement late': [3, 100, 4000],
  'order hears matching late': [2, 100, 3000],
  'order hears the watch late': [3, 100, 5000],
  'order hears of claims late': [1, 100, 3000],
  'settlement is asked late': [3, 100, 4000],
  'matching is asked late': [2, 100, 3000],
  'the watch is asked late': [2, 100, 4000],
  'payment hashes are answered late': [1, 100, 3000],
  'offers answer late': [1, 100, 3000],
  'order is down': [3, 300, 5000],
  'matching is down': [3, 300, 5000],
  'settlement is down': [4, 300, 5000],
  'channel-watcher is down': [4, 300, 5000],
  'quote is down': [1, 300, 3000],
} as const satisfies Readonly<Record<string, readonly [weight: number, least: number, most: number]>>
export type InjectionName = keyof typeof INJECTIONS

const INJECTION_NAMES = Object.keys(INJECTIONS) as readonly InjectionName[] // These are its keys.
const weightedNames: readonly InjectionName[] = INJECTION_NAMES.flatMap((name) =>
  Array.from({ length: INJECTIONS[name][0] }, () => name),
)

const listFactTypes = ({ category, facts }: { readonly category: string; readonly facts: object }): readonly string[] =>
  Object.keys(facts).map((type) => `${category} ${type}`)
/** The fact types of triggers. Those of the order contract are listed twice, so they are twice as likely. */
const TRIGGER_FACTS: readonly string[] = [
  ...listFactTypes(orderContract),
  ...listFactTypes(orderContract),
  ...listFactTypes(settlementContract),
  ...listFactTypes(channelContract),
  ...listFactTypes(matchContract),
]

export const drawTriggers = (random: Prng): readonly Trigger[] =>
  Array.from({ length: random.pick([0, 1, 2, 3, 4, 6]) }, () => ({
    factType: random.pick(TRIGGER_FACTS),
    nth: random.pick([1, 1, 1, 2, 3]),
    injections: Array.from({ length: random.pick([1, 1, 2, 3]) }, () => drawInjection(random, random.pick(weightedNames))),
  }))

export const drawInjection = (random: Prng, name: InjectionName): Injection => ({
  name,
  afterMs: random.chance(0.5) ? 0 : random.between(0, random.chance(0.8) ? 300 : 3000),
  amount: random.between(INJECTIONS[name][1], INJECTIONS[name][2]),
})
