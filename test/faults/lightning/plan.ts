import type { Purchase } from '../plan.ts'
import type { Random } from '../random.ts'

/** Who dies: a process of the product, or somebody's lnd. */
export type Victim = { readonly of: 'process' | 'lnd'; readonly alias: string }

/** One thing that goes wrong. Times are milliseconds from the beginning of the round. */
export type Blow = { readonly atMs: number } & (
  | { readonly what: 'kill'; readonly whom: Victim }
  /** The newest blocks are replaced by more of them, empty ones; what they confirmed waits again. */
  | { readonly what: 'reorg'; readonly depth: number }
  /** The same, in the moment in which they have confirmed the funding of an order. */
  | { readonly what: 'take back' }
)

/** What strikes shortly before a last height, so many blocks before it. */
export type WayBlow = { readonly left: number } & (
  | {
      readonly what: 'kill'
      readonly whom: Victim
      /** Whether it is back before the next block comes, as with ten minutes in between. */
      readonly isBack: boolean
    }
  | { readonly what: 'reorg'; readonly depth: number }
)

/** How two payments come to the last height that they share. */
export type Way = {
  /** Who buys what is confirmed at last, and who what is not. */
  readonly confirmed: string
  readonly unconfirmed: string
  readonly blows: readonly WayBlow[]
}

/** Nothing strikes a way sooner. */
export const WAY_BLOCKS = 3

/** All choices of a way. One blow at the least strikes while both payments are held for certain. */
export function wayOf(random: Random, buyers: readonly string[]): Way {
  const confirmed = random.pick(buyers)
  const others = buyers.filter((alias) => alias !== confirmed)
  const kill = (of: Victim['of']) => (left: number) =>
    ({ what: 'kill', left, whom: { of, alias: 'market' }, isBack: left > 0 && random.chance(0.4) }) as const
  const kinds: readonly ((left: number) => WayBlow)[] = [
    kill('process'),
    kill('lnd'),
    (left) => ({ what: 'reorg', left, depth: UNUSED_CONFIRMATIONS }),
  ]
  const first = random.pick(kinds)
  const more = kinds.filter((kind) => kind !== first && random.chance(0.7))
  const blows = [first(random.between(1, WAY_BLOCKS)), ...more.map((kind) => kind(random.between(0, WAY_BLOCKS)))]
  return {
    confirmed,
    unconfirmed: random.pick(others.length > 0 ? others : buyers),
    blows: blows.toSorted((one, other) => other.left - one.left),
  }
}

/** lnd uses a channel from its third confirmation on, and every graph loses it when its funding loses its block. */
export const UNUSED_CONFIRMATIONS = 2

export type BlowsExtent = { readonly longMs: number; readonly sellers: readonly string[] }

/**
 * All choices are made before a round begins. The market, its lnd, a seller's lnd and an agent die once at the least, and a
 * funding is taken back.
 */
export function blowsOf(random: Random, { longMs, sellers }: BlowsExtent): readonly Blow[] {
  const atMs = (): number => random.between(2000, longMs)
  const victims: readonly (() => Victim)[] = [
    () => ({ of: 'process', alias: 'market' }),
    () => ({ of: 'lnd', alias: 'market' }),
    () => ({ of: 'process', alias: random.pick(sellers) }),
    () => ({ of: 'lnd', alias: random.pick(sellers) }),
  ]
  const blows: readonly Blow[] = [
    ...victims.map((victim) => ({ what: 'kill', atMs: atMs(), whom: victim() }) as const),
    ...Array.from(
      { length: random.between(0, 2) },
      () => ({ what: 'kill', atMs: atMs(), whom: random.pick(victims)() }) as const,
    ),
    ...Array.from(
      { length: random.between(0, 1) },
      () => ({ what: 'reorg', atMs: atMs(), depth: random.between(1, UNUSED_CONFIRMATIONS) }) as const,
    ),
    { what: 'take back', atMs: atMs() },
  ]
  return blows.toSorted((one, other) => one.atMs - other.atMs)
}

/** The first and the last of those who buy pay, whatever else is planned: then money is held when a blow is to hit some. */
export const paying = (purchases: readonly Purchase[], longMs: number): readonly Purchase[] =>
  purchases.map((purchase, index): Purchase => {
    if (index === 0) return { ...purchase, atMs: 0, then: 'pay' }
    return index === purchases.length - 1 ? { ...purchase, atMs: longMs, then: 'pay' } : purchase
  })

/** For logs. */
export const told = (blow: Blow): string => `${(blow.atMs / 1000).toFixed(1)} s ${whatOf(blow)}`

export const toldWay = ({ confirmed, blows }: Way): readonly string[] => [
  `${confirmed}'s channel is confirmed just in time`,
  ...blows.map(
    (blow) => `with ${blow.left} left ${whatOf(blow)}${blow.what === 'kill' && blow.isBack ? ', back for the next' : ''}`,
  ),
]

function whatOf(blow: Blow | WayBlow): string {
  if (blow.what === 'kill') return `kill ${blow.whom.alias}${blow.whom.of === 'lnd' ? "'s lnd" : ''}`
  return blow.what === 'reorg' ? `reorg ${blow.depth}` : blow.what
}
