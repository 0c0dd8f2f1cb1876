import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { type BusFixture, busContract, type CrashMoment } from '@penstock/ports/bus.contract.ts'
import { clockContract } from '@penstock/ports/clock.contract.ts'
import { deliveriesContract } from '@penstock/ports/deliveries.contract.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { eventStoreContract, type EventStoreFixture } from '@penstock/ports/event-store.contract.ts'
import { leasesContract } from '@penstock/ports/leases.contract.ts'
import { limitsContract } from '@penstock/ports/limits.contract.ts'
import { progressContract } from '@penstock/ports/progress.contract.ts'
import { recordsContract } from '@penstock/ports/records.contract.ts'
import { timersContract } from '@penstock/ports/timers.contract.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sqlDeliveries } from '../sql/deliveries.ts'
import { sqlLimits } from '../sql/limits.ts'
import { sqlProgress } from '../sql/progress.ts'
import { sqlRecords } from '../sql/records.ts'
import { sqlTimers } from '../sql/timers.ts'
import { deterministicBus } from './bus.ts'
import { deterministicDatabase } from './database.ts'
import { deterministicDisk } from './disk.ts'
import { deterministicEventStore } from './event-store.ts'
import type { FaultPlan } from './faults/fault-injector.ts'
import { deterministicLeases } from './leases.ts'
import type { SimulatedProcess } from './faults/crash-injection.ts'
import { startAutoAdvance } from './auto-advance.ts'

/** Runs the appends to one stream one after the other, as the runtime does with the commands of a stream. */
function createPerKeyQueue() {
  const last = new Map<string, Promise<unknown>>()
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work, work)
    last.set(name, mine)
    return mine
  }
}

/** Retries a call after each Fault until the store is closed, as every caller of a store does. */
const retryFaults = async <T>(call: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault) || error.message.endsWith('is closed')) throw error
    }
  }
}

let simulations = 0
/** Each simulation of this file has its own fixed seed. */
const startSimulation = (plan: FaultPlan = {}) => startAutoAdvance(`contract ${++simulations}`, plan)

async function openStoreFixture(plan: FaultPlan): Promise<EventStoreFixture> {
  const simulation = startSimulation(plan)
  const shared = deterministicEventStore(deterministicDisk(simulation.schedule))
  let store: EventStore | undefined
  const open = async (): Promise<EventStore> => {
    const opened = shared.connect(simulation.startProcess('reader'))
    const turn = createPerKeyQueue()
    return (store = {
      ...opened,
      append: (stream, ...given) => turn(stream, () => retryFaults(() => opened.append(stream, ...given))),
      read: (...given) => retryFaults(() => opened.read(...given)),
      readAll: (...given) => retryFaults(() => opened.readAll(...given)),
    })
  }
  return {
    open,
    async reopen() {
      await store?.close()
      return open()
    },
    async crash(moment, stream, expected, events) {
      const when = moment === 'before-commit' ? 'before' : 'after'
      const writer = simulation.startProcess('writer', { crashAt: { point: 'store.append', when, visit: 1 } })
      const crashed = new Promise<void>((resolve) => void writer.onCrash(resolve))
      simulation.faults.disable() // one fault at a time
      void shared.connect(writer).append(stream, expected, events)
      await crashed
      simulation.faults.enable()
    },
    async elsewhere(stream, expected, events) {
      const other = shared.connect(simulation.startProcess('elsewhere'))
      await retryFaults(() => other.append(stream, expected, events))
    },
    async teardown() {
      await store?.close()
      await simulation.stop()
    },
  }
}

async function openBusFixture(plan: FaultPlan): Promise<BusFixture> {
  const simulation = startSimulation(plan)
  const broker = deterministicBus(simulation.schedule, deterministicDisk(simulation.schedule))
  const connectReader = (): Bus => {
    const made = broker.connect(simulation.startProcess('reader'), { retryMinMs: 2 })
    return { ...made, publish: (...given) => retryFaults(() => made.publish(...given)) }
  }
  let bus: Bus | undefined
  const open = async (): Promise<Bus> => (bus = connectReader())
  return {
    open,
    now: simulation.schedule.now,
    async reopen() {
      await bus?.close()
      return open()
    },
    async crash(moment, topic, messages) {
      const process = simulation.startProcess('crashing')
      const other = broker.connect(process)
      await retryFaults(() => other.publish(topic, messages))
      return moment === 'published' ? (process.kill(), []) : handleUntilKilled(process, other, moment, topic)
    },
    async teardown() {
      await bus?.close()
      await simulation.stop()
    },
  }
}

/** Kills the process in or after its third message. @returns the ids of the messages that it handled completely */
async function handleUntilKilled(
  process: SimulatedProcess,
  bus: Bus,
  moment: CrashMoment,
  topic: string,
): Promise<readonly string[]> {
  const handled: string[] = []
  const crashed = new Promise<void>((resolve) => void process.onCrash(resolve))
  let calls = 0
  await bus.subscribe({
    group: 'readers',
    topic,
    handle: async ({ id }) => {
      const isThird = ++calls === 3
      if ((isThird && moment === 'in-handler') || calls === 4) process.kill()
      if (isThird && moment === 'parked') {
        process.later(200, () => process.kill(), 'dies')
        return { park: 'the third cannot be handled' }
      }
      if (process.isAlive()) handled.push(id)
      return 'done'
    },
  })
  await crashed
  return handled
}

/** Opens a database that processes connect to one after the other. */
async function openSqlFixture<Port>(plan: FaultPlan, make: (views: Views) => Promise<Port>) {
  const simulation = startSimulation(plan)
  const database = deterministicDatabase(deterministicDisk(simulation.schedule), { longestTransactionMs: 600_000 })
  const open = () => database.connect(simulation.startProcess('reader'))
  const views = open()
  return {
    views,
    port: await make(views),
    reopen: () => make(open()),
    async teardown() {
      await simulation.stop()
      database.close()
    },
  }
}

/**
 * Faults under which a port keeps its contract for a caller that retries. Calls that are applied after their timeout are not
 * among them; late-calls.test.ts covers them.
 */
const storePlans: Readonly<Record<string, FaultPlan>> = {
  'without faults': {},
  'slow, disk full, lost answers': { slow: 0.02, appendFault: 0.1, appendUnknown: 0.2, readFault: 0.1, diskFull: 0.02 },
}
const busPlans: Readonly<Record<string, FaultPlan>> = {
  'without faults': {},
  'slow and lossy': { slow: 0.02, busSlow: 0.05, busDrop: 0.1, publishFault: 0.2, diskFull: 0.05 },
}
const sqlPlans: Readonly<Record<string, FaultPlan>> = { 'without faults': {}, slow: { slow: 0.05 } }

for (const [title, plan] of Object.entries(storePlans))
  eventStoreContract(`deterministic, ${title}`, () => openStoreFixture(plan), { processes: true })
for (const [title, plan] of Object.entries(busPlans))
  busContract(`deterministic, ${title}`, () => openBusFixture(plan), { processes: true })
for (const [title, plan] of Object.entries(sqlPlans)) {
  timersContract(`deterministic SQL, ${title}`, async () => {
    const { port, ...rest } = await openSqlFixture(plan, sqlTimers)
    return { timers: port, ...rest }
  })
  limitsContract(`deterministic SQL, ${title}`, async () => {
    const { port, ...rest } = await openSqlFixture(plan, sqlLimits)
    return { limits: port, ...rest }
  })
  progressContract(`deterministic SQL, ${title}`, async () => {
    const { port, ...rest } = await openSqlFixture(plan, sqlProgress)
    return { progress: port, ...rest }
  })
  recordsContract(`deterministic SQL, ${title}`, async () => {
    const { port, ...rest } = await openSqlFixture(plan, sqlRecords)
    return { records: port, ...rest }
  })
  deliveriesContract(`deterministic SQL, ${title}`, async () => {
    const { port, ...rest } = await openSqlFixture(plan, sqlDeliveries)
    return { deliveries: port, ...rest }
  })
}
clockContract('deterministic, of the simulation', async () => {
  const { schedule, stop } = startSimulation()
  return { clock: schedule.clock, teardown: stop }
})
for (const [title, options] of Object.entries({ 'of a process': {}, 'of a process with clock skew': { skewMs: 1500 } }))
  clockContract(`deterministic, ${title}`, async () => {
    const simulation = startSimulation()
    return { clock: simulation.startProcess('sleeper', options).clock, teardown: simulation.stop }
  })
leasesContract('deterministic', async () => {
  const simulation = startSimulation()
  return {
    leases: deterministicLeases(simulation.schedule).connect(simulation.startProcess('owner')),
    pass: (ms) => simulation.schedule.clock.sleep(ms),
    teardown: simulation.stop,
  }
})
