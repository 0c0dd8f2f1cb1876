import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { booksOf } from '../books.ts'
import { type Counts, counted, shown } from '../command.ts'
import type { Victim } from './plan.ts'

const VICTIMS = ['the market', "the market's lnd", 'an agent', "a seller's lnd"] as const

/** Who died, and how many orders had their buyer's money held by the market just then. */
export type Kill = { readonly who: (typeof VICTIMS)[number]; readonly held: number }

/**
 * Two payments at the last height that they share: the one whose channel the chain proves by then is taken, the other given
 * back, each at that height.
 */
export type Walk = {
  /** What struck on the way there, with how many held payments. */
  readonly blows: readonly { readonly what: Kill['who'] | 'a re-org of two blocks'; readonly held: number }[]
  readonly isTaken: boolean
  readonly isGivenBack: boolean
}

/** What really struck, and what the market really did: a plan alone says nothing of it. */
export type Struck = {
  readonly kills: readonly Kill[]
  readonly walks: readonly Walk[]
  /** Of all rounds so far. */
  readonly reorged: number
  readonly settled: number
  readonly sellersPaid: number
  readonly givenBack: number
}

export function whoIs({ of, alias }: Victim): Kill['who'] {
  const isMarket = alias === 'market'
  if (of === 'lnd') return isMarket ? "the market's lnd" : "a seller's lnd"
  return isMarket ? 'the market' : 'an agent'
}

export function struckIn(events: readonly Event[], kills: readonly Kill[], walks: readonly Walk[]): Struck {
  const books = booksOf(events)
  const facts = events.flatMap(({ category, fact }) => (category === 'order' ? [fact as OrderFact] : [])) // by its category
  return {
    kills,
    walks,
    reorged: facts.filter(({ type }) => type === 'FundingReorged').length,
    settled: books.filter(({ settled }) => settled.length > 0).length,
    sellersPaid: books.filter(({ paid }) => paid.length > 0).length,
    givenBack: books.filter(({ isHeld, cancelled }) => isHeld && cancelled.length > 0).length,
  }
}

type Seen = { readonly struck: Struck }

/** Each round's plan makes sure of it. */
const wanted: Readonly<Record<string, (round: Seen) => boolean>> = {
  ...Object.fromEntries(
    VICTIMS.map((victim) => [
      `a death of ${victim} while a payment was held`,
      ({ struck: { kills } }: Seen) => kills.some(({ who, held }) => who === victim && held > 0),
    ]),
  ),
  'a re-org that took a funding back': ({ struck }) => struck.reorged > 0,
  'a hold that was settled': ({ struck }) => struck.settled > 0,
  'a seller that was paid': ({ struck }) => struck.sellersPaid > 0,
  'a payment that was given back': ({ struck }) => struck.givenBack > 0,
  'a blow on the way to a last height while payments were held': ({ struck: { walks } }) =>
    walks.some(({ blows }) => blows.some(({ held }) => held > 0)),
  'a payment that was taken at its last height': ({ struck: { walks } }) => walks.some(({ isTaken }) => isTaken),
  'a payment that went back at its last height': ({ struck: { walks } }) => walks.some(({ isGivenBack }) => isGivenBack),
}

/** @returns a sentence for each thing that never came in any round */
export const lacking = (rounds: readonly Seen[]): readonly string[] =>
  Object.entries(wanted).flatMap(([what, is]) => (rounds.some(is) ? [] : [`There never was ${what}.`]))

/** For a round's line. */
export const struckShown = ({ kills, walks, reorged, settled, sellersPaid, givenBack }: Struck): string =>
  [
    ...walks.map(({ blows }) => `on the way to a last height ${shown(counted(blows.map(({ what }) => what)))}`),
    `killed ${shown(killsOf(kills))}`,
    `${reorged} re-orged, ${settled} settled, ${sellersPaid} sellers paid, ${givenBack} given back`,
  ].join('; ')

const killsOf = (kills: readonly Kill[]): Counts => counted(kills.map(({ who, held }) => `${who} with ${held} held`))
