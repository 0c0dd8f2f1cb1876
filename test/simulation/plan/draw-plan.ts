import { NODE_BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { type Prng, createPrng } from '@penstock/adapters/deterministic/prng.ts'
import { drawSandboxInvoices } from './draw-payments.ts'
import { drawTriggers } from './triggers.ts'
import {
  agentProcessName,
  WORKLOAD_MS,
  BUYERS,
  type PlannedKill,
  type OperatorAction,
  type SimulationPlan,
  type SimulatedPurchase,
  REPLICAS,
  QUIESCENCE_TIMEOUT_MS,
  type PlannedSeller,
  SELLERS,
  type NetworkEvent,
} from './plan.ts'
import { drawCrashPoints, drawFaults, drawInFlightCrashes } from './fault-rates.ts'
import { drawScenario } from '../scenarios/scenarios.ts'

const KILLABLE_PROCESSES: readonly string[] = [...REPLICAS, ...SELLERS.map(agentProcessName)]
/** The duration of a scenario in milliseconds of simulated time. */
const SCENARIO_MS = 8000

/** Makes all random choices of a seed before its run. The plan is then data that can be stored, and shrunk after a failure. */
export function drawPlan(seed: number): SimulationPlan {
  const draws = createPrng(`plan ${seed}`)
  const crashDraws = createPrng(`fatal calls ${seed}`)
  const sellers = drawSellers(draws)
  const plan: SimulationPlan = {
    seed,
    workloadMs: WORKLOAD_MS,
    quiescenceTimeoutMs: QUIESCENCE_TIMEOUT_MS,
    network: 'whole',
    sellers,
    purchases: Array.from({ length: draws.between(3, 6) }, () => drawPurchase(draws)),
    sandboxInvoices: drawSandboxInvoices(seed),
    networkEvents: drawNetworkEvents(draws),
    operatorActions: drawOperatorActions(draws),
    kills: drawKills(draws),
    crashPoints: [...drawCrashPoints(crashDraws), ...drawInFlightCrashes(createPrng(`left on the way ${seed}`))],
    canCrashWhileOpening: false,
    triggers: drawTriggers(createPrng(`cues ${seed}`)),
    faults: drawFaults(draws, createPrng(`late ${seed}`), createPrng(`node ${seed}`)),
    skewMs: draws.chance(0.3) ? Object.fromEntries(REPLICAS.map((name) => [name, draws.between(-1500, 1500)])) : {},
    rolledOutProcesses: draws.chance(0.5) ? REPLICAS.filter(() => draws.chance(0.4)) : [],
    hasLastSale: createPrng(`last sale ${seed}`).chance(0.25),
  }
  const scenarioDraws = createPrng(`scene ${seed}`)
  // A plan with a scenario has few other faults, so that the scenario can complete.
  return scenarioDraws.chance(0.6)
    ? {
        ...plan,
        workloadMs: SCENARIO_MS,
        kills: [],
        crashPoints: crashDraws.chance(0.3) ? plan.crashPoints : [],
        rolledOutProcesses: scenarioDraws.chance(0.2) ? plan.rolledOutProcesses : [],
        faults: scenarioDraws.chance(0.5) ? {} : plan.faults,
        ...drawScenario(scenarioDraws),
      }
    : plan
}

const drawTime = (random: Prng): number => random.between(0, WORKLOAD_MS)

const drawSellers = (random: Prng): readonly PlannedSeller[] =>
  SELLERS.map((alias, index) => ({
    alias,
    acceptsAutomatically: index < 2 || random.chance(0.6),
    answer: random.pick(['accepts', 'accepts', 'rejects', 'says nothing'] as const),
    isScarce: random.chance(0.1),
  }))

function drawPurchase(random: Prng): SimulatedPurchase {
  const api = random.pick(['buy', 'buy', 'buy', 'buy', 'lsps1', 'manual'] as const)
  return {
    atMs: random.between(0, WORKLOAD_MS - 4000),
    buyer: random.pick(BUYERS),
    api,
    options: { private: random.chance(0.25), rails_cluster_only: random.chance(0.2) },
    usdCents: random.between(500, 2500),
    afterwards: random.pick([
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

function drawNetworkEvents(random: Prng): readonly NetworkEvent[] {
  const maybe = <T>(share: number, make: () => T): readonly T[] => (random.chance(share) ? [make()] : [])
  const nodes = ['market', ...BUYERS, ...SELLERS]
  return [
    ...Array.from({ length: random.between(0, 3) }, () => ({
      kind: 'behave' as const,
      atMs: drawTime(random),
      alias: random.pick(SELLERS),
      behaviour: random.pick(NODE_BEHAVIOURS),
    })),
    ...maybe(0.3, () => ({
      kind: 'offline' as const,
      atMs: drawTime(random),
      alias: random.pick(nodes),
      forMs: random.between(300, 5000),
    })),
    ...maybe(0.15, () => ({
      kind: 'keep probes' as const,
      atMs: drawTime(random),
      alias: random.pick(BUYERS),
      forMs: random.between(1000, 9000),
    })),
    ...Array.from({ length: random.between(0, 2) }, () => ({
      kind: 'reorg' as const,
      atMs: drawTime(random),
      depth: random.between(1, 6),
      remine: random.chance(0.4),
    })),
    ...maybe(0.3, () => ({ kind: 'evict' as const, atMs: drawTime(random) })),
    ...maybe(0.3, () => ({ kind: 'close' as const, atMs: random.between(3000, WORKLOAD_MS), force: random.chance(0.5) })),
    ...maybe(0.2, () => ({
      kind: 'dear blocks' as const,
      atMs: drawTime(random),
      satPerVbyte: random.between(4, 12),
      forMs: random.between(500, 5000),
    })),
    ...maybe(0.15, () => ({ kind: 'mine' as const, atMs: drawTime(random), blocks: random.between(2, 130) })),
  ]
}

function drawOperatorActions(random: Prng): readonly OperatorAction[] {
  const actionNames: readonly OperatorAction['name'][] = [
    'close an order',
    'disable an offer',
    'enable the offers',
    'grant rails',
    'revoke rails',
    'toggle',
    'new terms',
  ]
  return Array.from({ length: random.between(0, 3) }, () => {
    const name = random.pick(actionNames)
    const atMs = drawTime(random)
    return name === 'toggle' || name === 'new terms'
      ? { atMs, actor: random.pick(SELLERS), name }
      : { atMs, actor: 'operator' as const, name }
  })
}

function drawKills(random: Prng): readonly PlannedKill[] {
  return Array.from({ length: random.between(0, 6) }, () => ({
    process: random.pick(KILLABLE_PROCESSES),
    atMs: drawTime(random),
    awayMs: random.between(20, random.chance(0.2) ? 8000 : 1500),
  }))
}
