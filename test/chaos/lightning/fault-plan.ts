import type { PlannedPurchase } from '../round-plan.ts'
import type { SeededRandom } from '../random.ts'

/** The victim of a kill: a process of the product, or a node's lnd. */
export type Victim = { readonly kind: 'process' | 'lnd'; readonly alias: string }

/** A planned fault. Times are in milliseconds since the start of the round. */
export type LightningFault = { readonly atMs: number } & (
  | { readonly kind: 'kill'; readonly victim: Victim }
  /** A longer branch of empty blocks replaces the newest `depth` blocks, so their transactions are unconfirmed again. */
  | { readonly kind: 'reorg'; readonly depth: number }
  /** A re-organisation removes an order's funding right after its confirmation. */
  | { readonly kind: 'take back' }
)

/** A fault at or shortly before a last height. `blocksLeft` is the number of blocks up to the last height. */
export type LastHeightFault = { readonly blocksLeft: number } & (
  | {
      readonly kind: 'kill'
      readonly victim: Victim
      /** Whether the next block waits until the victim has restarted, as with real block intervals of ten minutes. */
      readonly restartsFirst: boolean
    }
  | { readonly kind: 'reorg'; readonly depth: number }
)

/** The plan of a run in which two payments reach their common last height. */
export type LastHeightPlan = {
  /** The buyer whose funding confirms in time, and the buyer whose funding does not. */
  readonly confirmedBuyer: string
  readonly unconfirmedBuyer: string
  readonly faults: readonly LastHeightFault[]
}

/** The maximum number of blocks between a fault and the last height. */
export const LAST_HEIGHT_FAULT_BLOCKS = 3

/** Plans one run to a last height. The first fault occurs before that height, so both payments are still held. */
export function planLastHeightRun(random: SeededRandom, buyers: readonly string[]): LastHeightPlan {
  const confirmedBuyer = random.pick(buyers)
  const otherBuyers = buyers.filter((alias) => alias !== confirmedBuyer)
  const kill = (kind: Victim['kind']) => (blocksLeft: number) =>
    ({
      kind: 'kill',
      blocksLeft,
      victim: { kind, alias: 'market' },
      restartsFirst: blocksLeft > 0 && random.chance(0.4),
    }) as const
  const faultKinds: readonly ((blocksLeft: number) => LastHeightFault)[] = [
    kill('process'),
    kill('lnd'),
    (blocksLeft) => ({ kind: 'reorg', blocksLeft, depth: UNUSED_CONFIRMATIONS }),
  ]
  const first = random.pick(faultKinds)
  const moreKinds = faultKinds.filter((faultKind) => faultKind !== first && random.chance(0.7))
  const faults = [
    first(random.between(1, LAST_HEIGHT_FAULT_BLOCKS)),
    ...moreKinds.map((faultKind) => faultKind(random.between(0, LAST_HEIGHT_FAULT_BLOCKS))),
  ]
  return {
    confirmedBuyer,
    unconfirmedBuyer: random.pick(otherBuyers.length > 0 ? otherBuyers : buyers),
    faults: faults.toSorted((one, second) => second.blocksLeft - one.blocksLeft),
  }
}

/**
 * The most confirmations at which lnd does not use a channel yet, and the largest depth of a re-organisation. A deeper one would
 * remove channels that nodes use already.
 */
export const UNUSED_CONFIRMATIONS = 2

export type LightningFaultOptions = { readonly durationMs: number; readonly sellers: readonly string[] }

/**
 * Plans the faults of a round before it starts. The market, its lnd, a seller's lnd and an agent are killed at least once, and
 * a re-organisation removes a funding.
 */
export function planLightningFaults(
  random: SeededRandom,
  { durationMs, sellers }: LightningFaultOptions,
): readonly LightningFault[] {
  const atMs = (): number => random.between(2000, durationMs)
  const victimKinds: readonly (() => Victim)[] = [
    () => ({ kind: 'process', alias: 'market' }),
    () => ({ kind: 'lnd', alias: 'market' }),
    () => ({ kind: 'process', alias: random.pick(sellers) }),
    () => ({ kind: 'lnd', alias: random.pick(sellers) }),
  ]
  const faults: readonly LightningFault[] = [
    ...victimKinds.map((pickVictim) => ({ kind: 'kill', atMs: atMs(), victim: pickVictim() }) as const),
    ...Array.from(
      { length: random.between(0, 2) },
      () => ({ kind: 'kill', atMs: atMs(), victim: random.pick(victimKinds)() }) as const,
    ),
    ...Array.from(
      { length: random.between(0, 1) },
      () => ({ kind: 'reorg', atMs: atMs(), depth: random.between(1, UNUSED_CONFIRMATIONS) }) as const,
    ),
    { kind: 'take back', atMs: atMs() },
  ]
  return faults.toSorted((one, second) => one.atMs - second.atMs)
}

/** Changes the first and the last purchase so that their buyers pay, because faults should occur while payments are held. */
export const withPayingEnds = (purchases: readonly PlannedPurchase[], durationMs: number): readonly PlannedPurchase[] =>
  purchases.map((purchase, index): PlannedPurchase => {
    if (index === 0) return { ...purchase, atMs: 0, afterwards: 'pay' }
    return index === purchases.length - 1 ? { ...purchase, atMs: durationMs, afterwards: 'pay' } : purchase
  })

export const formatLightningFault = (fault: LightningFault): string =>
  `${(fault.atMs / 1000).toFixed(1)} s ${describeFault(fault)}`

export const formatLastHeightPlan = ({ confirmedBuyer, faults }: LastHeightPlan): readonly string[] => [
  `${confirmedBuyer}'s channel is confirmed just in time`,
  ...faults.map(
    (fault) =>
      `${fault.blocksLeft} blocks left: ${describeFault(fault)}${fault.kind === 'kill' && fault.restartsFirst ? ', then restart' : ''}`,
  ),
]

function describeFault(fault: LightningFault | LastHeightFault): string {
  if (fault.kind === 'kill') return `kill ${fault.victim.alias}${fault.victim.kind === 'lnd' ? "'s lnd" : ''}`
  return fault.kind === 'reorg' ? `reorg ${fault.depth}` : fault.kind
}
