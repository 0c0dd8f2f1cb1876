import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { type BusWorld, busContract, type CrashMoment } from '@penstock/ports/bus.contract.ts'
import { clockContract } from '@penstock/ports/clock.contract.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { eventStoreContract, type EventStoreWorld } from '@penstock/ports/event-store.contract.ts'
import { leasesContract } from '@penstock/ports/leases.contract.ts'
import { limitsContract } from '@penstock/ports/limits.contract.ts'
import { progressContract } from '@penstock/ports/progress.contract.ts'
import { recordsContract } from '@penstock/ports/records.contract.ts'
import { timersContract } from '@penstock/ports/timers.contract.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sqlLimits } from '../sql/limits.ts'
import { sqlProgress } from '../sql/progress.ts'
import { sqlRecords } from '../sql/records.ts'
import { sqlTimers } from '../sql/timers.ts'
import { seededBus } from './bus.ts'
import { seededDatabase } from './database.ts'
import { seededDisk } from './disk.ts'
import { seededEventStore } from './event-store.ts'
import type { FaultPlan } from './faults.ts'
import { seededLeases } from './leases.ts'
import type { Mortal } from './mortal.ts'
import { running } from './running.ts'

/** Work on one name is done in the order in which it was asked for, as the runtime does with the commands of a stream. */
function inOrder() {
  const last = new Map<string, Promise<unknown>>()
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work, work)
    last.set(name, mine)
    return mine
  }
}

/** Whoever is told of a fault tries the same again, as every caller of a store does. */
const trying = async <T>(call: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault) || error.message.endsWith('is closed')) throw error
    }
  }
}

async function storeWorld(plan: FaultPlan): Promise<EventStoreWorld> {
  const world = running(plan)
  const shared = seededEventStore(seededDisk(world.schedule))
  let store: EventStore | undefined
  const open = async (): Promise<EventStore> => {
    const opened = shared.of(world.born('reader'))
    const turn = inOrder()
    return (store = {
      ...opened,
      append: (stream, ...given) => turn(stream, () => trying(() => opened.append(stream, ...given))),
      read: (...given) => trying(() => opened.read(...given)),
      readAll: (...given) => trying(() => opened.readAll(...given)),
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
      const writer = world.born('writer', { diesAt: { point: 'store.append', when, visit: 1 } })
      const dead = new Promise<void>((resolve) => void writer.onDeath(resolve))
      world.faults.off() // one fault at a time
      void shared.of(writer).append(stream, expected, events)
      await dead
      world.faults.on()
    },
    async elsewhere(stream, expected, events) {
      const other = shared.of(world.born('elsewhere'))
      await trying(() => other.append(stream, expected, events))
    },
    async teardown() {
      await store?.close()
      await world.stop()
    },
  }
}

async function busWorld(plan: FaultPlan): Promise<BusWorld> {
  const world = running(plan)
  const broker = seededBus(world.schedule, seededDisk(world.schedule))
  const born = (): Bus => {
    const made = broker.of(world.born('reader'), { retryMinMs: 2 })
    return { ...made, publish: (...given) => trying(() => made.publish(...given)) }
  }
  let bus: Bus | undefined
  const open = async (): Promise<Bus> => (bus = born())
  return {
    open,
    async reopen() {
      await bus?.close()
      return open()
    },
    async crash(moment, topic, messages) {
      const process = world.born('crashing')
      const other = broker.of(process)
      await trying(() => other.publish(topic, messages))
      return moment === 'published' ? (process.kill(), []) : handledUntil(process, other, moment, topic)
    },
    async teardown() {
      await bus?.close()
      await world.stop()
    },
  }
}

/** The process dies in or after its third message. @returns what it has handled to the end */
async function handledUntil(process: Mortal, bus: Bus, moment: CrashMoment, topic: string): Promise<readonly string[]> {
  const handled: string[] = []
  const dead = new Promise<void>((resolve) => void process.onDeath(resolve))
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
      if (process.alive()) handled.push(id)
      return 'done'
    },
  })
  await dead
  return handled
}

/** A database that processes open one after the other. */
async function sqlWorld<Port>(plan: FaultPlan, make: (views: Views) => Promise<Port>) {
  const world = running(plan)
  const database = seededDatabase(seededDisk(world.schedule), { longestTransactionMs: 600_000 })
  const open = () => database.of(world.born('reader'))
  const views = open()
  return {
    views,
    port: await make(views),
    reopen: () => make(open()),
    async teardown() {
      await world.stop()
      database.close()
    },
  }
}

/**
 * Faults under which a port keeps every promise to a caller who asks again after one. What is given up and comes late has
 * tests of its own: no store can promise anything to who names a revision that is still to come.
 */
const storePlans: Readonly<Record<string, FaultPlan>> = {
  calm: {},
  'slow, full, unknown': { slow: 0.02, appendFault: 0.1, appendUnknown: 0.2, readFault: 0.1, diskFull: 0.02 },
}
const busPlans: Readonly<Record<string, FaultPlan>> = {
  calm: {},
  'slow and lossy': { slow: 0.02, busSlow: 0.05, busDrop: 0.1, publishFault: 0.2, diskFull: 0.05 },
}
const sqlPlans: Readonly<Record<string, FaultPlan>> = { calm: {}, slow: { slow: 0.05 } }

for (const [title, plan] of Object.entries(storePlans))
  eventStoreContract(`seeded, ${title}`, () => storeWorld(plan), { processes: true })
for (const [title, plan] of Object.entries(busPlans)) busContract(`seeded, ${title}`, () => busWorld(plan), { processes: true })
for (const [title, plan] of Object.entries(sqlPlans)) {
  timersContract(`seeded SQL, ${title}`, async () => {
    const { port, ...rest } = await sqlWorld(plan, sqlTimers)
    return { timers: port, ...rest }
  })
  limitsContract(`seeded SQL, ${title}`, async () => {
    const { port, ...rest } = await sqlWorld(plan, sqlLimits)
    return { limits: port, ...rest }
  })
  progressContract(`seeded SQL, ${title}`, async () => {
    const { port, ...rest } = await sqlWorld(plan, sqlProgress)
    return { progress: port, ...rest }
  })
  recordsContract(`seeded SQL, ${title}`, async () => {
    const { port, ...rest } = await sqlWorld(plan, sqlRecords)
    return { records: port, ...rest }
  })
}
clockContract('seeded, of the world', async () => {
  const { schedule, stop } = running()
  return { clock: schedule.clock, teardown: stop }
})
for (const [title, options] of Object.entries({ 'of a process': {}, 'of a process that is ahead': { skewMs: 1500 } }))
  clockContract(`seeded, ${title}`, async () => {
    const world = running()
    return { clock: world.born('sleeper', options).clock, teardown: world.stop }
  })
leasesContract('seeded', async () => {
  const world = running()
  return {
    leases: seededLeases(world.schedule).of(world.born('owner')),
    pass: (ms) => world.schedule.clock.sleep(ms),
    teardown: world.stop,
  }
})
