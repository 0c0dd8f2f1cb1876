import type { Random } from '../random.ts'

/** What has replicas, and what there is one of. */
const REPLICATED = ['quote', 'order', 'matching', 'settlement', 'channel-watcher', 'accounts', 'gateway'] as const
const SINGLE = ['simnet', 'audit', 'neighbours'] as const
const SERVERS = ['kafka', 'postgres'] as const

/** One thing that goes wrong. Times are milliseconds from the beginning of the round; `index` counts the processes of a name. */
export type Blow = { readonly atMs: number } & (
  | { readonly what: 'kill' | 'restart'; readonly name: string; readonly index: number }
  /** It stands still, as a machine does that is moved or swaps, and goes on as if nothing had been. */
  | { readonly what: 'freeze'; readonly name: string; readonly index: number; readonly forMs: number }
  /** Somebody joins every consumer group, takes partitions and handles nothing, and leaves. */
  | { readonly what: 'rebalance' }
  /** A service is restarted, and in between the places of its groups are set back to the start, or its groups are deleted. */
  | { readonly what: 'rewind' | 'forget'; readonly name: string }
)

export type BlowsExtent = { readonly longMs: number; readonly freezeMs: number; readonly replicas: number }

/** All choices are made before a round begins. Every kind comes once at the least. */
export function blowsOf(random: Random, { longMs, freezeMs, replicas }: BlowsExtent): readonly Blow[] {
  const atMs = (): number => random.between(1000, longMs)
  const replica = () => ({ name: random.pick(REPLICATED), index: random.between(0, replicas - 1) })
  const one = () => (random.chance(0.8) ? replica() : { name: random.pick(SINGLE), index: 0 })
  const blows: readonly Blow[] = [
    ...Array.from({ length: random.between(3, 5) }, () => ({ what: 'kill', atMs: atMs(), ...one() }) as const),
    ...Array.from({ length: 2 }, () => ({ what: 'restart', atMs: atMs(), ...one() }) as const),
    ...SERVERS.map((name) => ({ what: random.chance(0.6) ? 'kill' : 'restart', atMs: atMs(), name, index: 0 }) as const),
    { what: 'freeze', atMs: random.between(1000, longMs / 2), ...replica(), forMs: freezeMs },
    { what: 'rebalance', atMs: atMs() },
    { what: 'rewind', atMs: atMs(), name: random.pick(REPLICATED) },
    { what: 'forget', atMs: atMs(), name: random.pick(REPLICATED) },
  ]
  return blows.toSorted((one, other) => one.atMs - other.atMs)
}

/** For logs. */
export const told = (blow: Blow): string => {
  const { atMs, what, ...rest } = blow
  return `${(atMs / 1000).toFixed(1)} s ${what}${Object.values(rest)
    .map((value) => ` ${value}`)
    .join('')}`
}
