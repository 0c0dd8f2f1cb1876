import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type DeterministicBus, deterministicBus } from './bus.ts'
import { type DeterministicDatabase, deterministicDatabase } from './database.ts'
import { deterministicDisk } from './disk.ts'
import { type SimulationEngine, createSimulationEngine } from './simulation-engine.ts'
import { type DeterministicEventStore, deterministicEventStore } from './event-store.ts'
import type { FaultPlan } from './faults/fault-injector.ts'
import type { SimulatedProcess } from './faults/crash-injection.ts'

/** A run's servers, and the answers that its processes got. A test compares the answers with the state of the servers. */
export type WorkloadRun = SimulationEngine & {
  readonly store: DeterministicEventStore
  readonly bus: DeterministicBus
  readonly database: DeterministicDatabase
  readonly acknowledged: {
    readonly events: { readonly stream: string; readonly id: string; readonly revision: number }[]
    readonly messages: BusMessage[]
    readonly rows: string[]
  }
  /** Messages in the order in which handlers completed them. */
  readonly handled: BusMessage[]
  /** Positions that the follower of the store has received, across restarts of its process. */
  readonly followed: bigint[]
  /** Names of the processes that have finished their work. */
  readonly finished: Set<string>
  /** The process that handles each key now. */
  readonly activeHandlers: Map<string, SimulatedProcess>
  readonly overlaps: string[]
}

const KEYS = ['a', 'b', 'c', 'd']
const ROUNDS = 12
const NAMES = ['one', 'two', 'three'] as const

/**
 * Runs three processes that append to the same streams, publish messages, write rows and read all of these. Faults kill the
 * processes, and each restarts. Then the faults stop, and the simulation reaches quiescence.
 */
export async function runFaultyWorkload(seed: string, plan: FaultPlan): Promise<WorkloadRun> {
  const simulation = createSimulationEngine({ seed, plan })
  const disk = deterministicDisk(simulation.schedule)
  const run: WorkloadRun = {
    ...simulation,
    store: deterministicEventStore(disk),
    bus: deterministicBus(simulation.schedule, disk),
    database: deterministicDatabase(disk),
    acknowledged: { events: [], messages: [], rows: [] },
    handled: [],
    followed: [],
    finished: new Set(),
    activeHandlers: new Map(),
    overlaps: [],
  }
  for (const name of NAMES) runProcess(run, name)
  await simulation.schedule.run({ untilMs: simulation.schedule.now() + 60_000 })
  simulation.faults.disable()
  if ((await simulation.schedule.run({ maxSteps: 100_000 })) !== 'idle') throw new Error('the workload did not quiesce')
  return run
}

/** Runs a process that restarts some time after each crash. */
function runProcess(run: WorkloadRun, name: string): void {
  const process = run.startProcess(name, { skewMs: name === 'two' ? 700 : 0 })
  process.onCrash(() => void run.schedule.later(process.random.between(10, 3000), () => runProcess(run, name), `${name} is born`))
  const failed = (error: unknown): void => {
    throw error // only Faults may occur here, and these are retried
  }
  void appendAndPublish(run, process).then(() => run.finished.add(name), failed)
  void consumeMessages(run, process).catch(failed)
  if (name === 'one') void followStore(run, process).catch(failed)
}

async function appendAndPublish(run: WorkloadRun, process: SimulatedProcess): Promise<void> {
  const [store, bus, views] = [run.store.connect(process), run.bus.connect(process), run.database.connect(process)]
  const prng = process.random.fork('work')
  await retryFaults(process, () => views.db.schema.createTable('rows').ifNotExists().addColumn('id', 'text').execute())
  for (let round = 0; round < ROUNDS; round++) {
    const key = prng.pick(KEYS)
    const id = process.ids.uuid()
    await append(run, process, store, `order-${key}`, { id, type: 'Happened', data: '{}', meta: '{}' })
    const messages = [`${id}/1`, `${id}/2`].map((message) => ({ id: message, key, headers: {}, body: '{}' }))
    await retryFaults(process, () => bus.publish('orders', messages))
    run.acknowledged.messages.push(...messages)
    await retryFaults(process, () => insertPair(views, id))
    run.acknowledged.rows.push(id)
    await process.clock.sleep(prng.between(0, 2000))
  }
}

/**
 * Appends like the runtime: retries at the same revision until the outcome is known, and at the next revision after a conflict.
 */
async function append(
  run: WorkloadRun,
  process: SimulatedProcess,
  store: ReturnType<DeterministicEventStore['connect']>,
  stream: string,
  event: NewEvent,
) {
  for (;;) {
    const revision = (await retryFaults(process, () => store.read(stream))).at(-1)?.revision ?? 'none'
    const answer = await retryFaults(process, () => store.append(stream, revision, [event]))
    if (answer.outcome === 'conflict') continue
    run.acknowledged.events.push({ stream, id: event.id, revision: answer.revision })
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

async function consumeMessages(run: WorkloadRun, process: SimulatedProcess): Promise<void> {
  const handle = async (message: BusMessage): Promise<'done'> => {
    const other = run.activeHandlers.get(message.key)
    if (other?.isAlive()) run.overlaps.push(`${message.key}: ${other.name} and ${process.name}`)
    run.activeHandlers.set(message.key, process)
    await process.clock.sleep(process.random.between(0, 30))
    run.activeHandlers.delete(message.key)
    if (process.random.chance(0.05)) throw new Fault('not now')
    run.handled.push(message)
    return 'done'
  }
  await retryFaults(process, () => run.bus.connect(process).subscribe({ group: 'readers', topic: 'orders', handle }))
}

async function followStore(run: WorkloadRun, process: SimulatedProcess): Promise<void> {
  const signal = new AbortController().signal
  const store = run.store.connect(process)
  for (;;)
    try {
      const after = run.followed.at(-1) ?? 'start'
      for await (const batch of store.follow({ categories: ['order'], after, signal }))
        run.followed.push(...batch.map(({ position }) => position))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await process.clock.sleep(50)
    }
}

async function retryFaults<T>(process: SimulatedProcess, call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await process.clock.sleep(50)
    }
}
