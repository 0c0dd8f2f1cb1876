import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, RunningSubscription } from '@penstock/ports/bus.ts'
import { backoff, throughFaults } from './backoff.ts'
import { byOwner, consume, type RunningConsumer } from './consume.ts'
import type { Consumer } from './consumer.ts'
import { underLease } from './lease.ts'
import { followMemory } from './memory-view.ts'
import { commandTopic, republishTopic } from './messages.ts'
import { beginAtZero, componentRunning, relayHeld } from './metrics.ts'
import { onCommand, serviceCore } from './core.ts'
import type { Platform } from './platform.ts'
import { projector } from './project.ts'
import { reactor } from './react.ts'
import { readingsOf } from './readings.ts'
import { noteUnrelayed, relay } from './relay.ts'
import { republisher } from './republish.ts'
import type { Job, Service, ServiceContext } from './service.ts'
import { sweep } from './sweep.ts'
import { fireTimers } from './timers.ts'
import { migrateUnfinished } from './unfinished.ts'

/** A service with its own ports, ready to be run. `height`: the newest block it knows of, for deadlines by height. */
export type Bound = {
  readonly name: string
  readonly start: (platform: Platform, signal: AbortSignal) => Promise<RunningService>
}

export type RunningService = { readonly name: string; close(): Promise<void> }

export const bind = <Ports>(
  service: Service<Ports>,
  ports: Ports,
  height: () => number | undefined = () => undefined,
): Bound => ({
  name: service.name,
  async start(platform, signal) {
    const running = platform.config.restored
      ? await startLooking(service, ports, platform, signal)
      : await start(service, ports, height, platform, signal)
    componentRunning.set({ component: service.name }, 1)
    return running
  },
})

/**
 * Runs services until `close`. It resolves when all of them have read what they had missed and take messages.
 * Closing stops the intake, finishes what is in hand, and keeps the progress.
 */
export async function run(services: readonly Bound[], platform: Platform): Promise<{ close(): Promise<void> }> {
  const stop = new AbortController()
  await throughFaults(platform.clock, stop.signal, () => migrateUnfinished(platform.views))
  const running = await Promise.all(services.map((service) => service.start(platform, stop.signal)))
  return {
    async close() {
      stop.abort()
      await Promise.all(running.map((service) => service.close()))
    },
  }
}

async function start<Ports>(
  service: Service<Ports>,
  own: Ports,
  height: () => number | undefined,
  platform: Platform,
  signal: AbortSignal,
): Promise<RunningService> {
  const ports = { ...platform, ...own, log: platform.log.child({ service: service.name }) }
  const core = serviceCore(service, ports, platform, signal)
  const patiently = (call: () => Promise<void>): Promise<void> => throughFaults(platform.clock, signal, call)
  for (const projection of service.projections) await patiently(() => projection.migrate(platform.views))
  await Promise.all(service.memory.map((view) => followMemory(view, platform, signal)))

  await patiently(() => noteUnrelayed({ ...relayed(service, core), ...platform }))
  // Before any consumer: what guards money must not wait for the bus, nor for what others have to read first.
  const jobs = service.jobs.map((job) => keepRunning(job, core.context, signal))
  const loops = loopsOf(service, core, platform, height, signal)
  const consuming = { ...platform, basics: ports }
  const consumers = await Promise.all(
    consumersOf(service, core.reactContext, platform).map((consumer) => consume(consuming, consumer, signal)),
  )
  const asked = service.aggregates.length > 0 ? await ownersTopics(service, core, platform, signal) : []
  const unwatch = platform.gauges?.watch(readingsOf({ ...relayed(service, core), platform, consumers, height }))
  return {
    name: service.name,
    async close() {
      unwatch?.()
      await closeAll([...consumers, ...asked])
      await Promise.all([...loops, ...jobs])
      await core.close()
    },
  }
}

/**
 * After a restore: the stores may know less than the world outside, and a decision or a payment made from them could be made
 * twice. So nothing is decided, relayed, fired or carried out; only what looks runs, from what was restored.
 */
async function startLooking<Ports>(
  service: Service<Ports>,
  own: Ports,
  platform: Platform,
  signal: AbortSignal,
): Promise<RunningService> {
  const ports = { ...platform, ...own, log: platform.log.child({ service: service.name }) }
  const core = serviceCore(service, ports, platform, signal)
  for (const projection of service.projections) await projection.migrate(platform.views)
  await noteUnrelayed({ ...relayed(service, core), ...platform })
  const refuse = (): Promise<never> => Promise.reject(new Fault(READ_ONLY))
  const context = { ...core.context, decide: refuse, send: refuse, advance: refuse }
  ports.log.warn({}, READ_ONLY)
  const jobs = service.jobs.filter(({ looksOnly }) => looksOnly).map((job) => keepRunning(job, context, signal))
  return {
    name: service.name,
    async close() {
      await Promise.all(jobs)
    },
  }
}

const READ_ONLY = 'read-only after a restore: nothing is decided and no money moves while PENSTOCK_RESTORED is 1'

type Core<Ports> = ReturnType<typeof serviceCore<Ports>>

/** What others send to the owner of streams: commands, and on a bus that may lose messages requests for facts of its own. */
function ownersTopics<Ports>(
  service: Service<Ports>,
  core: Core<Ports>,
  platform: Platform,
  signal: AbortSignal,
): Promise<readonly RunningSubscription[]> {
  const { bus, clock } = platform
  const group = service.name
  const again = republisher({ ...platform, ...relayed(service, core) })
  const handlers = [
    { topic: commandTopic(group), handle: (message: BusMessage) => onCommand(core, message) },
    ...(bus.mayLose ? [{ topic: republishTopic(group), handle: again }] : []),
  ]
  return Promise.all(handlers.map((one) => throughFaults(clock, signal, () => bus.subscribe({ group, ...one }))))
}

function consumersOf<Ports>(
  service: Service<Ports>,
  context: Core<Ports>['reactContext'],
  platform: Platform,
): readonly Consumer[] {
  const reacting = [...byOwner(service.reactions.map(({ contract }) => contract))].map(([owner, contracts]) =>
    reactor(context, owner, contracts, service.reactions),
  )
  const projecting = service.projections.flatMap((projection) =>
    [...byOwner(projection.from)].map(([owner, contracts]) =>
      projector({ ...platform, service: service.name }, projection, owner, contracts),
    ),
  )
  return [...reacting, ...projecting]
}

const relayed = <Ports>(service: Service<Ports>, { unfinished }: Core<Ports>) => ({
  service: service.name,
  categories: service.aggregates.map(({ contract }) => contract.category),
  unfinished,
})

/** The relay, the timers and the sweep of a service that owns streams. */
function loopsOf<Ports>(
  service: Service<Ports>,
  core: Core<Ports>,
  platform: Platform,
  height: () => number | undefined,
  signal: AbortSignal,
): readonly Promise<void>[] {
  if (service.aggregates.length === 0) return []
  const { decide, advance, basics } = core
  const named = { ...relayed(service, core), timers: platform.timers, basics }
  const holding = async (held: AbortSignal): Promise<void> => {
    relayHeld.set({ component: service.name }, 1)
    await relay({ ...platform, ...named }, held).finally(() => relayHeld.set({ component: service.name }, 0))
  }
  beginAtZero(
    service.name,
    service.aggregates.map(({ contract }) => contract),
  )
  const relaying = (stop: AbortSignal) => underLease(platform, `relay.${service.name}`, holding, stop)
  return [
    keepRunning({ name: 'relay', run: (_, stop) => relaying(stop) }, core.context, signal),
    keepRunning({ name: 'timers', run: (_, stop) => fireTimers({ ...named, height, decide }, stop) }, core.context, signal),
    keepRunning({ name: 'sweep', run: (_, stop) => sweep({ ...named, advance }, stop) }, core.context, signal),
  ]
}

/** A loop that throws is started again, later each time, and says so. */
async function keepRunning<Ports>(job: Job<Ports>, context: ServiceContext<Ports>, signal: AbortSignal): Promise<void> {
  const { clock, log } = context.ports
  for (let tries = 0; !signal.aborted; tries++) {
    const since = clock.monotonicMs()
    try {
      await job.run(context, signal)
      return
    } catch (error) {
      if (signal.aborted) return
      log.error(
        { job: job.name, reason: String(error), stack: error instanceof Error ? error.stack : undefined },
        'a loop failed and is started again',
      )
      if (clock.monotonicMs() - since > 60_000) tries = 0
      await clock.sleep(backoff(tries, 200, 10_000), signal)
    }
  }
}

const closeAll = async (running: readonly (RunningConsumer | RunningSubscription)[]): Promise<void> => {
  await Promise.all(running.map((one) => one.close()))
}
