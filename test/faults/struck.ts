import { BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Counts } from './command.ts'
import { openingsAsked, type Told } from './told.ts'

/** What really struck, by what the market itself wrote down: a plan alone says nothing of it. */
export type Struck = {
  /** Orders of the round that were open when the market was killed, one number for each kill. */
  readonly killed: readonly number[]
  /** Of all rounds so far: successors of sellers that failed, and fundings that a re-org took back. */
  readonly failovers: number
  readonly reorged: number
  /** Openings that sellers were asked for, by how they behaved just then. */
  readonly asked: Counts
}

export function struckIn(
  events: readonly Event[],
  killed: readonly number[],
  told: readonly Told[],
  aliasOf: (pubkey: string) => string | undefined,
): Struck {
  const facts = events.flatMap(({ category, fact }) => (category === 'order' ? [fact as OrderFact] : [])) // by its category
  return {
    killed,
    failovers: facts.filter(({ type, data }) => type === 'AttemptStarted' && data.attempt > 1).length,
    reorged: facts.filter(({ type }) => type === 'FundingReorged').length,
    asked: openingsAsked(events, told, aliasOf),
  }
}

type Seen = { readonly struck: Struck; readonly statuses: Counts }

/** What a run has to have come through; the endings are those that sellers lead to. */
const wanted: Readonly<Record<string, (round: Seen) => boolean>> = {
  'a channel that was not as it was sold': ({ statuses }) => (statuses['INVALID_CHANNEL_OPENING'] ?? 0) > 0,
  'a funding that was named and never came': ({ statuses }) => (statuses['SELLER_FAILED_TO_SEND_SWAP'] ?? 0) > 0,
  'an order for which no seller opened': ({ statuses }) => (statuses['SELLER_FAILED_TO_OPEN_CHANNEL'] ?? 0) > 0,
  'a seller that another one followed': ({ struck }) => struck.failovers > 0,
  'a re-org that took a funding back': ({ struck }) => struck.reorged > 0,
  ...Object.fromEntries(
    BEHAVIOURS.map((how) => [
      `an order for which a seller was asked that behaved "${how}"`,
      ({ struck }: Seen) => (struck.asked[how] ?? 0) > 0,
    ]),
  ),
}

/** By then each of them came: sellers have their fashions in turns. */
const ROUNDS = 8

/** @returns a sentence for each round whose kills hit nothing, and for each kind of fault of which none struck in so many */
export const lacking = (rounds: readonly Seen[]): readonly string[] => [
  ...rounds.flatMap(({ struck: { killed } }, at) =>
    killed.some((open) => open > 0) ? [] : [`In round ${at + 1} there was no kill while an order was open.`],
  ),
  ...(rounds.length < ROUNDS
    ? []
    : Object.entries(wanted).flatMap(([what, is]) => (rounds.some(is) ? [] : [`There never was ${what}.`]))),
]
