import { BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { type Random, random } from '@penstock/adapters/seeded/random.ts'
import { cuesOf } from './cues.ts'
import {
  agentOf,
  BUSY_MS,
  BUYERS,
  type Death,
  type Deed,
  type Plan,
  type Purchase,
  REPLICAS,
  REST_WITHIN_MS,
  type Seller,
  SELLERS,
  type Weather,
} from './plan.ts'
import { fatalCallsOf, faultsOf, leftOnTheWay } from './plan-faults.ts'
import { sceneOf } from './scenes.ts'

const MORTALS: readonly string[] = [...REPLICAS, ...SELLERS.map(agentOf)]
/** What a scene needs is told by then. */
const SCENE_MS = 8000

/** All choices of a seed are made before it begins: a plan is data, can be written down, and be made smaller. */
export function planOf(seed: number): Plan {
  const draws = random(`plan ${seed}`)
  const fatal = random(`fatal calls ${seed}`)
  const sellers = sellersOf(draws)
  const whole: Plan = {
    seed,
    busyMs: BUSY_MS,
    restWithinMs: REST_WITHIN_MS,
    network: 'whole',
    sellers,
    purchases: Array.from({ length: draws.between(3, 6) }, () => purchaseOf(draws)),
    weather: weatherOf(draws),
    deeds: deedsOf(draws),
    deaths: deathsOf(draws),
    fatalCalls: [...fatalCallsOf(fatal), ...leftOnTheWay(random(`left on the way ${seed}`))],
    cues: cuesOf(random(`cues ${seed}`)),
    faults: faultsOf(draws, random(`late ${seed}`)),
    skewMs: draws.chance(0.3) ? Object.fromEntries(REPLICAS.map((name) => [name, draws.between(-1500, 1500)])) : {},
    old: draws.chance(0.5) ? REPLICAS.filter(() => draws.chance(0.4)) : [],
    isSoldOnceMore: random(`last sale ${seed}`).chance(0.25),
  }
  const special = random(`scene ${seed}`)
  // Few faults beside what a scene does on purpose: it is to come to its end.
  return special.chance(0.6)
    ? {
        ...whole,
        busyMs: SCENE_MS,
        deaths: [],
        fatalCalls: fatal.chance(0.3) ? whole.fatalCalls : [],
        old: special.chance(0.2) ? whole.old : [],
        faults: special.chance(0.5) ? {} : whole.faults,
        ...sceneOf(special),
      }
    : whole
}

const when = (random: Random): number => random.between(0, BUSY_MS)

const sellersOf = (random: Random): readonly Seller[] =>
  SELLERS.map((alias, index) => ({
    alias,
    standing: index < 2 || random.chance(0.6),
    answers: random.pick(['accepts', 'accepts', 'rejects', 'says nothing'] as const),
    isScarce: random.chance(0.1),
  }))

function purchaseOf(random: Random): Purchase {
  const by = random.pick(['buy', 'buy', 'buy', 'buy', 'lsps1', 'manual'] as const)
  return {
    atMs: random.between(0, BUSY_MS - 4000),
    buyer: random.pick(BUYERS),
    by,
    options: { private: random.chance(0.25), rails_cluster_only: random.chance(0.2) },
    usdCents: random.between(500, 2500),
    then: random.pick([
      'pay',
      'pay',
      'pay',
      'pay',
      'pay',
      'pay twice',
      'pay too much',
      'pay at the last moment',
      'leave',
      'cancel',
      'pay and cancel',
    ] as const),
    afterMs: random.between(0, 1500),
    confirmations: random.between(1, 9),
  }
}

function weatherOf(random: Random): readonly Weather[] {
  const some = <T>(share: number, make: () => T): readonly T[] => (random.chance(share) ? [make()] : [])
  const nodes = ['market', ...BUYERS, ...SELLERS]
  return [
    ...Array.from({ length: random.between(0, 3) }, () => ({
      what: 'behave' as const,
      atMs: when(random),
      alias: random.pick(SELLERS),
      how: random.pick(BEHAVIOURS),
    })),
    ...some(0.3, () => ({
      what: 'offline' as const,
      atMs: when(random),
      alias: random.pick(nodes),
      forMs: random.between(300, 5000),
    })),
    ...some(0.15, () => ({
      what: 'keep probes' as const,
      atMs: when(random),
      alias: random.pick(BUYERS),
      forMs: random.between(1000, 9000),
    })),
    ...Array.from({ length: random.between(0, 2) }, () => ({
      what: 'reorg' as const,
      atMs: when(random),
      depth: random.between(1, 6),
      remine: random.chance(0.4),
    })),
    ...some(0.3, () => ({ what: 'evict' as const, atMs: when(random) })),
    ...some(0.3, () => ({ what: 'close' as const, atMs: random.between(3000, BUSY_MS), force: random.chance(0.5) })),
    ...some(0.2, () => ({
      what: 'dear blocks' as const,
      atMs: when(random),
      satPerVbyte: random.between(4, 12),
      forMs: random.between(500, 5000),
    })),
    ...some(0.15, () => ({ what: 'mine' as const, atMs: when(random), blocks: random.between(2, 130) })),
  ]
}

function deedsOf(random: Random): readonly Deed[] {
  const deeds: readonly Deed['does'][] = [
    'close an order',
    'disable an offer',
    'enable the offers',
    'grant rails',
    'revoke rails',
    'toggle',
    'new terms',
  ]
  return Array.from({ length: random.between(0, 3) }, () => {
    const does = random.pick(deeds)
    const atMs = when(random)
    return does === 'toggle' || does === 'new terms'
      ? { atMs, who: random.pick(SELLERS), does }
      : { atMs, who: 'operator' as const, does }
  })
}

function deathsOf(random: Random): readonly Death[] {
  return Array.from({ length: random.between(0, 6) }, () => ({
    process: random.pick(MORTALS),
    atMs: when(random),
    awayMs: random.between(20, random.chance(0.2) ? 8000 : 1500),
  }))
}
