import { fixedRateSource } from '@penstock/adapters/rates/fixed.ts'
import { createCrashTrigger, type SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import { withChainFaults, withLightningFaults, withRateFaults } from '@penstock/adapters/deterministic/faults/port-faults.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'
import type { CrashPointHandler } from '@penstock/runtime/crash-points.ts'
import { createCrashPointHandler } from './named-crashes.ts'
import { createJournalFile, runSimulatedAgent } from './seller-agents.ts'
import type { ServiceName } from '@penstock/standalone/registry.ts'
import { agentProcessName, WORKLOAD_MS } from '../plan/plan.ts'
import { type ReplicaDependencies, startReplica } from '../replica.ts'
import {
  countAppends,
  createOvertakingCounter,
  createReplicaCounter,
  type OvertakingCounter,
  recordCalls,
} from './call-recorder.ts'
import { runAsProcess, withOwnActions } from './current-process.ts'
import { SIMULATION_CONFIG, type SimulatedWorld } from './simulated-world.ts'

/** Starts simulated processes, and restarts each after a crash, as the cluster launcher does. */
export type ProcessHost = {
  startReplica(name: string): void
  startAgent(alias: string, terms: SellerTerms, apiKey: string): void
  /** Kills the process, and restarts it after `awayMs`. */
  kill(name: string, awayMs: number): void
  /** Pauses the process for this time. It is not restarted. */
  freeze(name: string, ms: number): void
  readonly isAlive: (name: string) => boolean
  /** Crashes the running process if the plan has a crash at this visit of a named crash point. */
  readonly hitCrashPoint: CrashPointHandler
}

/** The shortest sleep of a process in milliseconds. Otherwise frequent polls would be most steps of a run. */
const MIN_SLEEP_MS = 400

type EndOccurrence = 'process killed as planned' | 'process that was rolled out'

export function createProcessHost(world: SimulatedWorld): ProcessHost {
  const { engine, plan, trace, countOccurrence, bus } = world
  const { schedule } = engine
  const draws = schedule.random.fork('cradle')
  const [processes, awayMs] = [new Map<string, SimulatedProcess>(), new Map<string, number>()]

  const isAlive = (name: string): boolean => processes.get(name)?.isAlive() ?? false
  const overtakings = createOvertakingCounter((topic) => bus.topic(topic), countOccurrence)
  const countReplica = createReplicaCounter(countOccurrence, isAlive)
  const findCrashPoint = createCrashTrigger(plan.crashPoints, engine.faults.isEnabled)

  const startProcess = (name: string, run: (process: SimulatedProcess) => Promise<void>): void => {
    const skewMs = plan.skewMs[name] ?? 0
    if (skewMs !== 0) countOccurrence('process whose clock is off')
    const started = engine.startProcess(name, { skewMs, minSleepMs: MIN_SLEEP_MS, crashAt: findCrashPoint })
    const process = withOwnActions(recordCalls(name, started, world))
    processes.set(name, process)
    process.onCrash(() => {
      trace.note(`${process.name} died`)
      const delayMs = awayMs.get(name) ?? draws.between(20, 2000)
      awayMs.delete(name)
      schedule.later(delayMs, () => startProcess(name, run), `${name} is started again`)
    })
    runAsProcess(process, () => run(process)).catch((error: unknown) => {
      trace.note(`${process.name} ended: ${String(error)}`)
      // After a `Fault` of a server at the start, the process is restarted. Any other error is a defect.
      if (!(error instanceof Fault)) world.crashes.push(error)
      process.kill()
    })
  }
  const endProcess = (name: string, downMs: number, occurrence: EndOccurrence): void => {
    const process = processes.get(name)
    if (!process?.isAlive()) return
    countOccurrence(occurrence)
    awayMs.set(name, downMs)
    process.kill()
  }
  const runReplica = async (name: string, process: SimulatedProcess): Promise<void> => {
    const service = parseServiceName(name)
    const options = { overtakings, onMessage: () => countReplica(service, name) }
    await startReplica(service, await createReplicaDependencies(world, process, options))
  }
  const rollOut = (): void => {
    for (const name of plan.rolledOutProcesses) endProcess(name, draws.between(20, 2000), 'process that was rolled out')
  }
  if (plan.rolledOutProcesses.length > 0)
    schedule.later(draws.between(WORKLOAD_MS / 2, WORKLOAD_MS), rollOut, 'the roll-out ends')

  return {
    startReplica: (name) => startProcess(name, (process) => runReplica(name, process)),
    startAgent: (alias, terms, apiKey) => startProcess(agentProcessName(alias), createAgentStart(world, alias, terms, apiKey)),
    kill: (name, downMs) => endProcess(name, downMs, 'process killed as planned'),
    freeze(name, ms) {
      if (isAlive(name)) countOccurrence('process that stood still as planned')
      processes.get(name)?.freeze(ms)
    },
    isAlive,
    hitCrashPoint: createCrashPointHandler(findCrashPoint, engine.faults.count),
  }
}

/** @returns a function that starts a seller's agent; all starts of the agent use the same journal file */
function createAgentStart({ simnet, market, trace }: SimulatedWorld, alias: string, terms: SellerTerms, apiKey: string) {
  const file = createJournalFile()
  return (process: SimulatedProcess): Promise<void> =>
    runSimulatedAgent({
      process,
      lightning: withLightningFaults(process, simnet.lightning(alias)),
      market,
      file,
      apiKey,
      terms,
      feeRate: (blocks) => withChainFaults(process, simnet.chain()).feeRate(blocks),
      log: trace.createLog(process.name),
    })
}

// The cast is safe because a process is named `<service>.<number>`, and the name of a service has no dot.
const parseServiceName = (name: string): ServiceName => name.slice(0, name.indexOf('.')) as ServiceName

type ReplicaCounters = {
  readonly overtakings: OvertakingCounter
  readonly onMessage: () => void
}

async function createReplicaDependencies(
  world: SimulatedWorld,
  process: SimulatedProcess,
  { overtakings, onMessage }: ReplicaCounters,
): Promise<ReplicaDependencies> {
  const { engine, simnet, market, store, bus, consumerDelays, leases, keyring, pepper, vault, trace, countOccurrence } = world
  const views = world.views.connect(process)
  const records = world.records.connect(process)
  const died = Promise.withResolvers<never>()
  process.onCrash(() => {
    market.removeGateway(process.name)
    died.reject(new Fault(`${process.name} is gone`))
  })
  died.promise.catch(() => undefined)
  return {
    platform: {
      store: countAppends(store.connect(process), countOccurrence),
      bus: overtakings.withCounting(consumerDelays.withDelays(bus.connect(process), process.clock), onMessage),
      views,
      clock: process.clock,
      ids: process.ids,
      timers: await sqlTimers(views),
      progress: await sqlProgress(views),
      limits: await sqlLimits(views),
      leases: leases.connect(process),
      instance: process.name,
      config: SIMULATION_CONFIG,
      log: trace.createLog(process.name),
    },
    records: await sqlRecords(records),
    deliveries: await sqlDeliveries(records),
    postWebhook: world.webhooks.connect(process),
    lightning: withLightningFaults(process, simnet.lightning('market')),
    chain: withChainFaults(process, simnet.chain()),
    keyring,
    rates: [withRateFaults(process, fixedRateSource(10_000_000n, engine.schedule.clock))],
    pepper,
    vault,
    onGatewayOpened: (gateway) => market.addGateway(process.name, gateway, died.promise),
    onLink: (link) => void world.flowLinks.add(link),
  }
}
