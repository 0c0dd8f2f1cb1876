import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type SeededBus, seededBus } from './bus.ts'
import { type SeededDatabase, seededDatabase } from './database.ts'
import { seededDisk } from './disk.ts'
import { type Engine, engine } from './engine.ts'
import { type SeededEventStore, seededEventStore } from './event-store.ts'
import type { FaultPlan } from './faults.ts'
import type { Mortal } from './mortal.ts'

/** What the processes of a course were told, for a test to compare with what the servers have. */
export type Course = Engine & {
  readonly store: SeededEventStore
  readonly bus: SeededBus
  readonly database: SeededDatabase
  readonly acknowledged: {
    readonly events: { readonly stream: string; readonly id: string; readonly revision: number }[]
    readonly messages: BusMessage[]
    readonly rows: string[]
  }
  /** Messages in the order in which a handler was done with them. */
  readonly handled: BusMessage[]
  /** What a follower of the store has seen, whichever life it was in. */
  readonly followed: bigint[]
  /** Who has come to the end of its work. */
  readonly finished: Set<string>
  /** Who works on a key, and what two that lived did at once. */
  readonly inHand: Map<string, Mortal>
  readonly overlaps: string[]
}

const KEYS = ['a', 'b', 'c', 'd']
const ROUNDS = 12
const NAMES = ['one', 'two', 'three'] as const

/**
 * Three processes that append to the same streams, publish, write rows in transactions, read all of it, and are killed
 * and born again; then the faults stop and everything comes to rest.
 */
export async function runCourse(seed: string, plan: FaultPlan): Promise<Course> {
  const made = engine({ seed, plan })
  const disk = seededDisk(made.schedule)
  const course: Course = {
    ...made,
    store: seededEventStore(disk),
    bus: seededBus(made.schedule, disk),
    database: seededDatabase(disk),
    acknowledged: { events: [], messages: [], rows: [] },
    handled: [],
    followed: [],
    finished: new Set(),
    inHand: new Map(),
    overlaps: [],
  }
  for (const name of NAMES) live(course, name)
  await made.schedule.run({ untilMs: made.schedule.now() + 60_000 })
  made.faults.off()
  if ((await made.schedule.run({ maxSteps: 100_000 })) !== 'idle') throw new Error('the course does not come to rest')
  return course
}

/** A process that is born again some time after it has died, as often as it takes. */
function live(course: Course, name: string): void {
  const process = course.born(name, { skewMs: name === 'two' ? 700 : 0 })
  process.onDeath(() => void course.schedule.later(process.random.between(10, 3000), () => live(course, name), `${name} is born`))
  const failed = (error: unknown): void => {
    throw error // nothing here may fail but by a fault, and those are tried again
  }
  void work(course, process).then(() => course.finished.add(name), failed)
  void listen(course, process).catch(failed)
  if (name === 'one') void follow(course, process).catch(failed)
}

async function work(course: Course, process: Mortal): Promise<void> {
  const [store, bus, views] = [course.store.of(process), course.bus.of(process), course.database.of(process)]
  const draws = process.random.fork('work')
  await trying(process, () => views.db.schema.createTable('rows').ifNotExists().addColumn('id', 'text').execute())
  for (let round = 0; round < ROUNDS; round++) {
    const key = draws.pick(KEYS)
    const id = process.ids.uuid()
    await append(course, process, store, `order-${key}`, { id, type: 'Happened', data: '{}', meta: '{}' })
    const messages = [`${id}/1`, `${id}/2`].map((message) => ({ id: message, key, headers: {}, body: '{}' }))
    await trying(process, () => bus.publish('orders', messages))
    course.acknowledged.messages.push(...messages)
    await trying(process, () => insertPair(views, id))
    course.acknowledged.rows.push(id)
    await process.clock.sleep(draws.between(0, 2000))
  }
}

/** As the runtime does: the same event at the same revision until the outcome is known, the next revision after a conflict. */
async function append(
  course: Course,
  process: Mortal,
  store: ReturnType<SeededEventStore['of']>,
  stream: string,
  event: NewEvent,
) {
  for (;;) {
    const revision = (await trying(process, () => store.read(stream))).at(-1)?.revision ?? 'none'
    const answer = await trying(process, () => store.append(stream, revision, [event]))
    if (answer.outcome === 'conflict') continue
    course.acknowledged.events.push({ stream, id: event.id, revision: answer.revision })
    return
  }
}

const insertPair = (views: Views, id: string): Promise<void> =>
  views.db.transaction().execute(async (trx) => {
    const rows = trx.$extendTables<{ rows: { id: string } }>()
    for (const half of ['first', 'second'])
      await rows
        .insertInto('rows')
        .values({ id: `${id} ${half}` })
        .execute()
  })

async function listen(course: Course, process: Mortal): Promise<void> {
  const handle = async (message: BusMessage): Promise<'done'> => {
    const other = course.inHand.get(message.key)
    if (other?.alive()) course.overlaps.push(`${message.key}: ${other.name} and ${process.name}`)
    course.inHand.set(message.key, process)
    await process.clock.sleep(process.random.between(0, 30))
    course.inHand.delete(message.key)
    if (process.random.chance(0.05)) throw new Fault('not now')
    course.handled.push(message)
    return 'done'
  }
  await trying(process, () => course.bus.of(process).subscribe({ group: 'readers', topic: 'orders', handle }))
}

async function follow(course: Course, process: Mortal): Promise<void> {
  const signal = new AbortController().signal
  const store = course.store.of(process)
  for (;;)
    try {
      const after = course.followed.at(-1) ?? 'start'
      for await (const batch of store.follow({ categories: ['order'], after, signal }))
        course.followed.push(...batch.map(({ position }) => position))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await process.clock.sleep(50)
    }
}

async function trying<T>(process: Mortal, call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await process.clock.sleep(50)
    }
}
