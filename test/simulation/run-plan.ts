import type { FlowLink } from '@penstock/testkit/record-flow.ts'
import { forbidNondeterminism } from '@penstock/adapters/deterministic/isolation/forbid-nondeterminism.ts'
import { replaceCrashPointHandler } from '@penstock/runtime/crash-points.ts'
import { buildOrderModels } from '../support/invariants/order-model.ts'
import { checkOrders } from '../support/invariants/orders.ts'
import { findHtlcsAtMarket, buildNetworkState } from '../support/invariants/network-state.ts'
import { findUnexplainedWork, listPendingWork } from '../support/invariants/pending-work.ts'
import type { SimulationPlan } from './plan/plan.ts'
import { checkDeclaredFlow } from './invariants/declared-flow.ts'
import { InvariantViolation, createFoldedLog, type FoldedLog } from './invariants/folded-log.ts'
import type { TransitionCounts } from './transitions/transition-coverage.ts'
import { BALANCE_TIMEOUT_MS, checkSandbox } from './invariants/sandbox.ts'
import { hasReadAllFacts, runFinalChecks } from './invariants/final-checks.ts'
import { createInvariantChecks } from './invariants/invariants.ts'
import { runLastSale } from './workload/last-sale.ts'
import { seedLibraries, warmUpLibraries } from './world/seeded-libraries.ts'
import { createPayoutActions } from './injections/payouts.ts'
import { type TriggerRunner, createTriggerRunner } from './injections/trigger-runner.ts'
import { createProcessHost } from './world/process-host.ts'
import type { MarketDefect } from './broken-market/tools.ts'
import { runSimulatedWorkload } from './workload/workload.ts'
import { closeWorld, createSimulatedWorld, type SimulatedWorld } from './world/simulated-world.ts'

export type SeedOutcome = {
  readonly plan: SimulationPlan
  readonly violation: { readonly invariant: string; readonly message: string; readonly stack: string } | undefined
  readonly scheduleTrace: string
  readonly steps: number
  readonly virtualMs: number
  readonly cpuMs: number
  readonly faults: Readonly<Record<string, number>>
  readonly transitions: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly events: number
  /** The calls at which a process could have crashed. */
  readonly crashPoints: readonly string[]
  readonly flowLinks: readonly FlowLink[]
  readonly recentSteps: readonly string[]
  readonly traceLines: readonly string[]
}

/** The longest wait for pending work that depends on a known party. In a run every such party acts sooner. */
const MAX_WAITING_MS = 60_000
/** Milliseconds between two checks for quiescence: slow for the goal 'work is done', fast for the goal 'leases are over'. */
const SLOW_CHECK_MS = 2000
const FAST_CHECK_MS = 400
/** The longest time from the account of the last seller to its payout. A process may be frozen for 40 s of it. */
const LAST_SALE_TIMEOUT_MS = 240_000

/** Runs one plan to its end. During the run, no code may read the real clock or real randomness. */
export async function runPlan(plan: SimulationPlan, defect: MarketDefect = (world) => world): Promise<SeedOutcome> {
  const startUsage = process.cpuUsage()
  const transitions: TransitionCounts = new Map()
  const world = defect(createSimulatedWorld(plan))
  const log = createFoldedLog(world.store.memory, transitions)
  const startedAt = world.engine.schedule.now()
  warmUpLibraries(world.simnet)
  const nondeterminism: Error[] = []
  const restoreGlobals = forbidNondeterminism((error) => void nondeterminism.push(error))
  const restoreLibraries = seedLibraries(world.engine.schedule)
  let violation: SeedOutcome['violation']
  let statuses: Readonly<Record<string, number>> = {}
  try {
    statuses = await runWorld(world, log, nondeterminism)
    checkDeclaredFlow(world.flowLinks)
  } catch (error) {
    violation = {
      invariant: error instanceof InvariantViolation ? error.invariant : 'no crash',
      message: error instanceof Error ? error.message : String(error),
      stack: error instanceof Error ? (error.stack ?? '') : '',
    }
  } finally {
    restoreLibraries()
    restoreGlobals()
  }
  const { schedule, faults } = world.engine
  const outcome: SeedOutcome = {
    plan,
    violation,
    scheduleTrace: schedule.traceHash(),
    steps: schedule.steps(),
    virtualMs: schedule.now() - startedAt,
    cpuMs: measureCpuMs(startUsage),
    faults: faults.counts(),
    transitions: Object.fromEntries([...transitions].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    statuses,
    events: log.events.length,
    crashPoints: [...world.crashPoints].toSorted(),
    flowLinks: [...world.flowLinks].toSorted(),
    recentSteps: schedule.recentSteps(),
    traceLines: world.trace.recent(),
  }
  closeWorld(world)
  return outcome
}

const measureCpuMs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return Math.round((user + system) / 1000)
}

async function runWorld(
  world: SimulatedWorld,
  log: FoldedLog,
  nondeterminism: readonly Error[],
): Promise<Readonly<Record<string, number>>> {
  const initialMsat = readMarketMsat(world)
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', onRejection)
  const host = createProcessHost(world)
  const restoreCrashPoints = replaceCrashPointHandler(host.hitCrashPoint)
  try {
    const triggers = createTriggerRunner()
    const afterStep = createInvariantChecks(world, host, log, triggers, { nondeterminism, rejections })
    const workload = trackPromise(runSimulatedWorkload(world, host, log, triggers))
    await runUntil(
      world,
      () => workload.is() !== undefined,
      world.plan.workloadMs + 120_000,
      afterStep,
      'the workload did not end',
    )
    workload.check()
    const actOnPayouts = createPayoutActions(world, log)
    await runToQuiescence(world, log, triggers, { afterStep, payables: actOnPayouts }, 'work is done')
    triggers.stop()
    if (world.plan.hasLastSale) {
      const lastSale = trackPromise(runLastSale(world, host, log))
      await runUntil(world, () => lastSale.is() !== undefined, LAST_SALE_TIMEOUT_MS, afterStep, 'the last sale did not end')
      lastSale.check()
    }
    await runToQuiescence(world, log, triggers, { afterStep, payables: actOnPayouts }, 'leases are over')
    if (world.plan.sandboxInvoices.length > 0) {
      const sandbox = trackPromise(checkSandbox(world, log))
      await runUntil(world, () => sandbox.is() !== undefined, 2 * BALANCE_TIMEOUT_MS, afterStep, 'a wallet showed no balance')
      sandbox.check()
    }
    const statuses = await runFinalChecks(world, log, () => readMarketMsat(world) - initialMsat, afterStep)
    // Node reports an unhandled rejection in a later turn of the event loop, so this call waits for those of the last checks.
    await world.engine.schedule.run({ maxSteps: 0 })
    afterStep()
    return statuses
  } finally {
    restoreCrashPoints()
    process.off('unhandledRejection', onRejection)
  }
}

/** Tracks a promise, so that the loop of steps can check without waiting whether the promise has settled. */
function trackPromise(promise: Promise<void>) {
  let state: 'done' | { readonly error: unknown } | undefined
  promise.then(
    () => void (state = 'done'),
    (error: unknown) => void (state = { error }),
  )
  return {
    is: () => state,
    check: () => {
      if (typeof state === 'object') throw state.error
    },
  }
}

/** Runs the simulation until the condition holds. @param failure the message of the violation at the timeout */
async function runUntil(
  world: SimulatedWorld,
  until: () => boolean,
  timeoutMs: number,
  afterStep: () => void,
  failure: string,
): Promise<void> {
  const { schedule } = world.engine
  const reason = await schedule.run({ until, untilMs: schedule.now() + timeoutMs, afterStep })
  if (reason !== 'until') throw new InvariantViolation('liveness', `${failure}: not within ${timeoutMs} ms (${reason})`)
}

/**
 * Runs without faults until all work has ended or waits for a known party. It also mines blocks, because an unproven hold ends at
 * its last height, and a channel lease ends after its blocks. @throws InvariantViolation at the plan's quiescence timeout
 */
async function runToQuiescence(
  world: SimulatedWorld,
  log: FoldedLog,
  triggers: TriggerRunner,
  { afterStep, payables: actOnPayouts }: { readonly afterStep: () => void; readonly payables: (height: number) => void },
  goal: 'work is done' | 'leases are over',
): Promise<void> {
  const { schedule } = world.engine
  const startedAtMs = schedule.now()
  for (;;) {
    await schedule.run({ untilMs: schedule.now() + (goal === 'work is done' ? SLOW_CHECK_MS : FAST_CHECK_MS), afterStep })
    const networkState = buildNetworkState((sql) => world.simnet.rows(sql))
    const pendingWork = listPendingWork(log.pendingSteps(), { at: schedule.now(), height: networkState.height })
    const heldHtlcs = findHtlcsAtMarket(networkState).map(({ payment_hash }) => `${payment_hash} hangs at the market`)
    const violations = [
      ...findUnexplainedWork(pendingWork),
      ...checkOrders(buildOrderModels(log.events), pendingWork),
      ...heldHtlcs,
    ]
    const isQuiescent = triggers.isIdle() && violations.length === 0 && world.bus.undelivered() === 0
    const isDone = isQuiescent && (await hasReadAllFacts(world, log))
    const waitedMs = schedule.now() - startedAtMs
    if (isDone && (goal === 'work is done' || pendingWork.length === 0 || waitedMs > MAX_WAITING_MS)) return
    if (waitedMs > world.plan.quiescenceTimeoutMs)
      throw new InvariantViolation('liveness', describePendingWork(world, violations))
    actOnPayouts(networkState.height)
    // If no work is unexplained, the pending work waits for the ends of channel leases, and more blocks are mined at once.
    const isLeased = pendingWork.length > 0 && violations.length === 0
    world.simnet.control.mine(isLeased ? 15 : 5)
  }
}

function describePendingWork({ bus }: SimulatedWorld, violations: readonly string[]): string {
  const [first] = violations
  if (first) return `${first}; ${violations.length} in all`
  return bus.undelivered() > 0 ? `${bus.undelivered()} messages are not delivered` : 'the read models of the gateway lack facts'
}

function readMarketMsat({ simnet }: SimulatedWorld): bigint {
  const market = simnet.control.balances().nodes.find(({ alias }) => alias === 'market')
  return (market?.onChainMsat ?? 0n) + (market?.channelMsat ?? 0n)
}
