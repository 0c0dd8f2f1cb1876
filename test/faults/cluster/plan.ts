import { type Counts, counted } from '../command.ts'
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

export type BlowsExtent = {
  readonly longMs: number
  readonly freezeMs: number
  readonly replicas: number
  /** Of this service a process stands still; where nothing is said, of any. */
  readonly frozen?: (typeof REPLICATED)[number]
}

/** All choices are made before a round begins. Both servers are killed and one of them restarted; every kind comes once at the least. */
export function blowsOf(random: Random, { longMs, freezeMs, replicas, frozen }: BlowsExtent): readonly Blow[] {
  const atMs = (): number => random.between(1000, longMs)
  const replica = () => ({ name: random.pick(REPLICATED), index: random.between(0, replicas - 1) })
  const one = () => (random.chance(0.8) ? replica() : { name: random.pick(SINGLE), index: 0 })
  const still = { ...replica(), ...(frozen && { name: frozen }) }
  const others = REPLICATED.filter((name) => name !== still.name)
  const rewound = random.pick(others)
  const blows: readonly Blow[] = [
    ...Array.from({ length: random.between(3, 5) }, () => ({ what: 'kill', atMs: atMs(), ...one() }) as const),
    ...Array.from({ length: 2 }, () => ({ what: 'restart', atMs: atMs(), ...one() }) as const),
    ...SERVERS.map((name) => ({ what: 'kill', atMs: atMs(), name, index: 0 }) as const),
    { what: 'restart', atMs: atMs(), name: random.pick(SERVERS), index: 0 },
    { what: 'freeze', atMs: random.between(1000, longMs / 2), ...still, forMs: freezeMs },
    { what: 'rebalance', atMs: atMs() },
    { what: 'rewind', atMs: atMs(), name: rewound },
    { what: 'forget', atMs: atMs(), name: random.pick(others.filter((name) => name !== rewound)) },
  ]
  // Who ends meanwhile did not stand still: another one of its kind does.
  const spared = (blow: Blow): Blow =>
    (blow.what === 'kill' || blow.what === 'restart') && blow.name === still.name && blow.index === still.index
      ? { ...blow, index: (blow.index + 1) % replicas }
      : blow
  return blows.map(spared).toSorted((one, other) => one.atMs - other.atMs)
}

const isServer = ({ name }: { readonly name: string }): boolean => SERVERS.some((server) => server === name)

/** What a run has to have come through. */
const wanted: Readonly<Record<string, (blow: Blow) => boolean>> = {
  'a process that is killed': (blow) => blow.what === 'kill' && !isServer(blow),
  'a process that is restarted': (blow) => blow.what === 'restart' && !isServer(blow),
  'a broker that is killed': (blow) => blow.what === 'kill' && blow.name === 'kafka',
  'a database that is killed': (blow) => blow.what === 'kill' && blow.name === 'postgres',
  'a server that is restarted': (blow) => blow.what === 'restart' && isServer(blow),
  // Who guards the money.
  'a process of settlement that stands still': (blow) => blow.what === 'freeze' && blow.name === 'settlement',
  'a rebalance': ({ what }) => what === 'rebalance',
  'a group whose place is lost': ({ what }) => what === 'rewind',
  'a group that is deleted': ({ what }) => what === 'forget',
}

const SOLD = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'] as const

/**
 * @param rounds the blows that really came in each, and the orders by status at its end
 * @returns a sentence for each kind of blow of which none came, and where nothing was sold under them
 */
export function lacking(rounds: readonly { readonly dealt: readonly Blow[]; readonly statuses: Counts }[]): readonly string[] {
  const dealt = rounds.flatMap((round) => round.dealt)
  const isSold = rounds.some(({ statuses }) => SOLD.some((status) => (statuses[status] ?? 0) > 0))
  return [
    ...Object.entries(wanted).flatMap(([what, is]) => (dealt.some(is) ? [] : [`There never was ${what}.`])),
    ...(isSold ? [] : ['Nothing was sold.']),
  ]
}

export const countsOf = (blows: readonly Blow[]): Counts => counted(blows.map(({ what }) => what))

/** For logs. */
export const told = (blow: Blow): string => {
  const { atMs, what, ...rest } = blow
  return `${(atMs / 1000).toFixed(1)} s ${what}${Object.values(rest)
    .map((value) => ` ${value}`)
    .join('')}`
}
