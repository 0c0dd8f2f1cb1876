import type { Random } from '@penstock/adapters/seeded/random.ts'
import { type Cue, type Stroke, type StrokeName, strokeOf } from './cues.ts'
import type { Answering, Plan, Purchase, Seller } from './plan.ts'

/**
 * What chance alone would bring about too seldom: one or two orders with things that happen at just the wrong moment.
 * Each scene leaves the details to the seed, so that it is met in all its variants.
 */
export type Scene = Partial<
  Pick<Plan, 'purchases' | 'sellers' | 'weather' | 'deeds' | 'cues' | 'faults' | 'skewMs' | 'network' | 'busyMs' | 'old'>
>

/** Strokes fall so soon after their cue unless a scene says when. */
const SOON_MS = 120

type At = { readonly at?: number | readonly [number, number]; readonly much?: number | readonly [number, number] }

export function toolsOf(draws: Random) {
  const pick = <const T>(...list: readonly T[]): T => draws.pick(list)
  const value = (given: number | readonly [number, number]): number =>
    typeof given === 'number' ? given : draws.between(given[0], given[1])
  const does = (name: StrokeName, { at = [0, SOON_MS], much }: At = {}): Stroke => {
    const drawn = strokeOf(draws, name)
    return { does: name, afterMs: value(at), much: much === undefined ? drawn.much : value(much) }
  }
  const on = (fact: string, ...strokes: readonly Stroke[]): Cue => ({ on: fact, nth: 1, strokes })
  const maybe = <T extends Stroke | Cue>(...what: readonly T[]): readonly T[] => (draws.chance(0.5) ? what : [])
  const purchase = (given: Partial<Purchase> = {}): Purchase => ({
    atMs: 100,
    buyer: 'buyer',
    by: 'buy',
    options: { private: false, rails_cluster_only: false },
    usdCents: draws.between(600, 2000),
    then: 'pay',
    afterMs: 50,
    confirmations: 3,
    ...given,
  })
  /** The seller's agent is away when it should open: its owner does everything by hand. */
  const byHand: readonly Cue[] = [on('order AttemptStarted', does('the agent dies', { at: 0, much: [6000, 9000] }))]
  /** Its owner opens and names a channel as soon as the seller is asked to. */
  const opens = (what: StrokeName = 'the seller names a fresh channel', at: At = { much: 0 }): readonly Cue[] => [
    ...byHand,
    on('order OpeningAsked', does(what, at)),
  ]
  const dear = (): Stroke => does('blocks get dear', { at: 0, much: [1000, 4000] })
  return { pick, does, on, maybe, purchase, byHand, opens, dear, draws }
}
export type Tools = ReturnType<typeof toolsOf>

/** How far an order is, as the watch over its channel tells. */
export const WATCHED = [
  'channel WatchStarted',
  'channel FundingSeen',
  'channel FundingMissing',
  'channel FundingConfirmed',
  'channel ConfirmationsReached',
] as const
/** A sale that goes well, as its order tells it. */
export const SALE = [
  'order OrderPlaced',
  'order SellerAccepted',
  'order HoldIssued',
  'order PaymentHeld',
  'order AttemptStarted',
  'order OpeningAsked',
  'order OutpointNamed',
  'order FundingSeen',
  'order FundingConfirmed',
  'order ChannelOpened',
  'order SettlingStarted',
  'order OrderValid',
] as const
/** Two sellers who need not be asked, and one who answers so. */
export const sellersWith = (answers: Answering): readonly Seller[] => [
  { alias: 'seller-ada', standing: true, answers: 'accepts', isScarce: false },
  { alias: 'seller-bob', standing: true, answers: 'accepts', isScarce: false },
  { alias: 'seller-cleo', standing: false, answers, isScarce: false },
]
export const NAMINGS = ['fresh', 'small', 'dear'] as const
export const nth = (cue: Cue, number: number): Cue => ({ ...cue, nth: number })
