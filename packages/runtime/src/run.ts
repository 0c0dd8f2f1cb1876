import { sendersOf } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, RunningSubscription } from '@penstock/ports/bus.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { retryFaults } from './retry.ts'
import { groupByOwner, consume, type RunningConsumer } from './consumers/consume.ts'
import type { Consumer } from './consumers/consumer.ts'
import { runUnderLease } from './processes/lease.ts'
import { followMemoryView } from './views/memory-view.ts'
import { commandTopic, republishTopic, isLowPriority } from './commands/messages.ts'
import { initialiseCounters, componentRunning, relayLeaseHeld } from './observability/metrics.ts'
import { receiveCommand, createServiceRuntime } from './service-runtime.ts'
import type { Platform } from './platform.ts'
import { createProjector } from './views/project.ts'
import { createProjectionTransactions } from './views/projection-transactions.ts'
import { createReactor } from './consumers/react.ts'
import { createServiceReader } from './observability/service-gauges.ts'
import { recordUnrelayedStreams, relayFacts } from './consumers/relay.ts'
import { createRepublisher } from './consumers/republish.ts'
import { listFollowedContracts, type ServiceJob, type Service, type ServiceContext } from './service.ts'
import { recoverStreams } from './processes/recovery.ts'
import { fireTimers } from './processes/fire-timers.ts'
import { migrateOpenStreams } from './processes/open-streams.ts'

/** A service with its own ports, ready to be run. */
export type BoundService = {
  readonly name: string
  readonly start: (platform: Platform, signal: AbortSignal) => Promise<RunningService>
}

export type RunningService = { readonly name: string; close(): Promise<void> }

/** @param height returns the height of the service's chain tip, for deadlines at a height */
export const bind = <Ports>(
  service: Service<Ports>,
  ports: Ports,
  height: () => number | undefined = () => undefined,
): BoundService => ({
  name: service.name,
  async start(platform, signal) {
    const running = platform.config.restored
      ? await startReadOnly(service, ports, platform, signal)
      : await startService(service, ports, height, platform, signal)
    componentRunning.set({ component: service.name }, 1)
    return running
  },
})

/**
 * Runs services until `close`. The call resolves when all services have caught up and receive messages. `close` stops the
 * receipt of messages, finishes the work in progress, and saves the progress.
 */
export async function run(services: readonly BoundService[], platform: Platform): Promise<{ close(): Promise<void> }> {
  const stop = new AbortController()
  await retryFaults(platform, stop.signal, () => migrateOpenStreams(platform.views))
  const running = await Promise.all(services.map((service) => service.start(platform, stop.signal)))
  return {
    async close() {
      stop.abort()
      await Promise.all(running.map((service) => service.close()))
    },
  }
}

async function startService<Ports>(
  service: Service<Ports>,
  ownPorts: Ports,
  height: () => number | undefined,
  platform: Platform,
  signal: AbortSignal,
): Promise<RunningService> {
  const ports = { ...platform, ...ownPorts, log: platform.log.child({ service: service.name }) }
  const core = createServiceRuntime(service, ports, platform, signal)
  const withRetries = (call: () => Promise<void>): Promise<void> => retryFaults(platform, signal, call)
  for (const projection of service.projections) await withRetries(() => projection.migrate(platform.views))
  await Promise.all(service.memoryViews.map((view) => followMemoryView(view, platform, signal)))

  await withRetries(() => recordUnrelayedStreams({ ...relayContextOf(service, core), ...platform }))
  await withRetries(async () => service.checkStart?.(core.context))
  // Jobs start before any consumer, because the guard of holds must not wait for the bus or for a consumer to catch up.
  const jobs = service.jobs.map((job) => keepRunning(job, core.context, signal))
  const loops = startLoops(service, core, platform, height, signal)
  const consumeContext = { ...platform, basePorts: ports }
  const consumers = await Promise.all(
    createConsumers(service, core.reactContext, platform).map((consumer) => consume(consumeContext, consumer, signal)),
  )
  const subscriptions = service.aggregates.length > 0 ? await subscribeOwnTopics(service, core, platform, signal) : []
  const unwatch = platform.gauges?.addReader(
    createServiceReader({ ...relayContextOf(service, core), platform, consumers, height }),
  )
  return {
    name: service.name,
    async close() {
      unwatch?.()
      await closeAll([...consumers, ...subscriptions])
      await Promise.all([...loops, ...jobs])
      await core.close()
    },
  }
}

/**
 * Starts a service after a restore. The stores may be older than the outside world, and a decision or a payment could be
 * repeated. So no command, relay, timer or effect runs; only read-only jobs run, on the restored data.
 */
async function startReadOnly<Ports>(
  service: Service<Ports>,
  ownPorts: Ports,
  platform: Platform,
  signal: AbortSignal,
): Promise<RunningService> {
  const ports = { ...platform, ...ownPorts, log: platform.log.child({ service: service.name }) }
  const core = createServiceRuntime(service, ports, platform, signal)
  for (const projection of service.projections) await projection.migrate(platform.views)
  await recordUnrelayedStreams({ ...relayContextOf(service, core), ...platform })
  await service.checkStart?.(core.context)
  const refuse = (): Promise<never> => Promise.reject(new Fault(READ_ONLY))
  const context = { ...core.context, decide: refuse, send: refuse, runProcess: refuse }
  ports.log.warn({}, READ_ONLY)
  const jobs = service.jobs.filter(({ isReadOnly }) => isReadOnly).map((job) => keepRunning(job, context, signal))
  return {
    name: service.name,
    async close() {
      await Promise.all(jobs)
    },
  }
}

const READ_ONLY = 'read-only after a restore: nothing is decided and no money moves while PENSTOCK_RESTORED is 1'

type ServiceRuntime<Ports> = ReturnType<typeof createServiceRuntime<Ports>>

/** Subscribes the owner of streams to commands and, on a bus that may lose messages, to requests for its own facts. */
function subscribeOwnTopics<Ports>(
  service: Service<Ports>,
  core: ServiceRuntime<Ports>,
  platform: Platform,
  signal: AbortSignal,
): Promise<readonly RunningSubscription[]> {
  const { bus } = platform
  const group = service.name
  const republish = createRepublisher({ ...platform, ...relayContextOf(service, core) })
  const senders = new Set(service.aggregates.flatMap(({ contract }) => sendersOf(contract)))
  const handlers = [
    ...[...senders].map((sender) => ({
      topic: commandTopic(group, sender),
      handle: (message: BusMessage) => receiveCommand(core, sender, message),
      isLowPriority,
    })),
    ...(bus.mayLose ? [{ topic: republishTopic(group), handle: republish }] : []),
  ]
  return Promise.all(handlers.map((one) => retryFaults(platform, signal, () => bus.subscribe({ group, ...one }))))
}

function createConsumers<Ports>(
  service: Service<Ports>,
  context: ServiceRuntime<Ports>['reactContext'],
  platform: Platform,
): readonly Consumer[] {
  const reactors = [...groupByOwner(listFollowedContracts(service))].map(([owner, contracts]) =>
    createReactor(context, owner, contracts, service.reactions),
  )
  const projectors = service.projections.flatMap((projection) => {
    const projectorContext = { ...platform, service: service.name }
    const transactions = createProjectionTransactions(projectorContext, projection)
    return [...groupByOwner(projection.from)].map(([owner, contracts]) =>
      createProjector(projectorContext, projection, owner, contracts, transactions),
    )
  })
  return [...reactors, ...projectors]
}

const relayContextOf = <Ports>(service: Service<Ports>, { openStreams }: ServiceRuntime<Ports>) => ({
  service: service.name,
  categories: service.aggregates.map(({ contract }) => contract.category),
  onlyRelayed: service.aggregates.flatMap(({ contract }) => (contract.isFollowedInMemory ? [] : [contract.category])),
  openStreams,
})

/** Starts the relay, the timers and the recovery of a service that owns streams. */
function startLoops<Ports>(
  service: Service<Ports>,
  core: ServiceRuntime<Ports>,
  platform: Platform,
  height: () => number | undefined,
  signal: AbortSignal,
): readonly Promise<void>[] {
  if (service.aggregates.length === 0) return []
  const { decide, paidFirst, advance, basePorts, timerIndex, handledCommands } = core
  const loopContext = { ...relayContextOf(service, core), timers: platform.timers, basePorts }
  const relayWhileHeld = async (held: AbortSignal): Promise<void> => {
    relayLeaseHeld.set({ component: service.name }, 1)
    await relayFacts({ ...platform, ...loopContext }, held).finally(() => relayLeaseHeld.set({ component: service.name }, 0))
  }
  initialiseCounters(
    service.name,
    service.aggregates.map(({ contract }) => contract),
  )
  const relayUnderLease = (stop: AbortSignal) => runUnderLease(platform, `relay.${service.name}`, relayWhileHeld, stop)
  return [
    keepRunning({ name: 'relay', run: (_, stop) => relayUnderLease(stop) }, core.context, signal),
    keepRunning(
      { name: 'timers', run: (_, stop) => fireTimers({ ...loopContext, paidFirst, height, timerIndex, decide }, stop) },
      core.context,
      signal,
    ),
    keepRunning(
      { name: 'sweep', run: (_, stop) => recoverStreams({ ...loopContext, handledCommands, runProcess: advance }, stop) },
      core.context,
      signal,
    ),
  ]
}

/** Runs a job. If the job throws, the error is logged, and the job restarts with back-off. */
async function keepRunning<Ports>(job: ServiceJob<Ports>, context: ServiceContext<Ports>, signal: AbortSignal): Promise<void> {
  const { clock, ids, log } = context.ports
  for (let tries = 0; !signal.aborted; tries++) {
    const since = clock.monotonicMs()
    try {
      await job.run(context, signal)
      return
    } catch (error) {
      if (signal.aborted) return
      log.error(
        { job: job.name, reason: String(error), stack: error instanceof Error ? error.stack : undefined },
        'background job failed; restarting',
      )
      if (clock.monotonicMs() - since > 60_000) tries = 0
      await clock.sleep(computeBackoffMs(tries, ids, 200, 10_000), signal)
    }
  }
}

const closeAll = async (running: readonly (RunningConsumer | RunningSubscription)[]): Promise<void> => {
  await Promise.all(running.map((one) => one.close()))
}
