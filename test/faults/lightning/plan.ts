import type { Random } from '../random.ts'

/** Who dies: a process of the product, or somebody's lnd. */
type Victim = { readonly of: 'process' | 'lnd'; readonly alias: string }

/** One thing that goes wrong. Times are milliseconds from the beginning of the round. */
export type Blow = { readonly atMs: number } & (
  | { readonly what: 'kill'; readonly whom: Victim }
  /** The newest blocks are replaced by more of them, empty ones; what they confirmed waits again. */
  | { readonly what: 'reorg'; readonly depth: number }
)

export type BlowsExtent = { readonly longMs: number; readonly sellers: readonly string[] }

/** All choices are made before a round begins. The market, its lnd, a seller's lnd and an agent die once at the least. */
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
      { length: random.between(1, 2) },
      () => ({ what: 'reorg', atMs: atMs(), depth: random.between(1, 3) }) as const,
    ),
  ]
  return blows.toSorted((one, other) => one.atMs - other.atMs)
}

/** For logs. */
export const told = (blow: Blow): string =>
  `${(blow.atMs / 1000).toFixed(1)} s ${blow.what === 'kill' ? `kill ${blow.whom.alias}${blow.whom.of === 'lnd' ? "'s lnd" : ''}` : `reorg ${blow.depth}`}`
