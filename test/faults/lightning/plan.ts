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

/** lnd uses a channel from its third confirmation on, and gives it up when its funding loses its block. */
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

function whatOf(blow: Blow): string {
  if (blow.what === 'kill') return `kill ${blow.whom.alias}${blow.whom.of === 'lnd' ? "'s lnd" : ''}`
  return blow.what === 'reorg' ? `reorg ${blow.depth}` : blow.what
}
