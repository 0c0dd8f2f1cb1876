import { channel } from '@penstock/contracts/channel.ts'
import { match } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import type { Random } from '@penstock/adapters/seeded/random.ts'

/** What somebody does to an order just then; `much` is so many blocks, milliseconds or whatever the stroke counts in. */
export type Stroke = { readonly does: StrokeName; readonly afterMs: number; readonly much: number }

/** Somebody acts on what he sees: on the so-many-th fact of a kind (`<category> <type>`), with the order that it is about. */
export type Cue = { readonly on: string; readonly nth: number; readonly strokes: readonly Stroke[] }

/** Every stroke, with how often it is drawn and the least and the most of it. */
export const STROKES = {
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
export type StrokeName = keyof typeof STROKES

const NAMES = Object.keys(STROKES) as readonly StrokeName[] // its own keys
const drawn: readonly StrokeName[] = NAMES.flatMap((name) => Array.from({ length: STROKES[name][0] }, () => name))

const factsOf = ({ category, facts }: { readonly category: string; readonly facts: object }): readonly string[] =>
  Object.keys(facts).map((type) => `${category} ${type}`)
/** An order's own facts are the ones that people see. */
const OCCASIONS: readonly string[] = [
  ...factsOf(order),
  ...factsOf(order),
  ...factsOf(settlement),
  ...factsOf(channel),
  ...factsOf(match),
]

export const cuesOf = (draws: Random): readonly Cue[] =>
  Array.from({ length: draws.pick([0, 1, 2, 3, 4, 6]) }, () => ({
    on: draws.pick(OCCASIONS),
    nth: draws.pick([1, 1, 1, 2, 3]),
    strokes: Array.from({ length: draws.pick([1, 1, 2, 3]) }, () => strokeOf(draws, draws.pick(drawn))),
  }))

export const strokeOf = (draws: Random, does: StrokeName): Stroke => ({
  does,
  afterMs: draws.chance(0.5) ? 0 : draws.between(0, draws.chance(0.8) ? 300 : 3000),
  much: draws.between(STROKES[does][1], STROKES[does][2]),
})
