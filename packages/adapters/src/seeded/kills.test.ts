import { describe, expect, it } from 'vitest'
import type { Bus } from '@penstock/ports/bus.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import type { Views } from '@penstock/ports/views.ts'
import { seededBus } from './bus.ts'
import { seededDatabase } from './database.ts'
import { seededDisk } from './disk.ts'
import { engine } from './engine.ts'
import { seededEventStore } from './event-store.ts'
import { type Death, doom } from './mortal.ts'

const event: NewEvent = { id: '00000000-0000-4000-8000-000000000001', type: 'Happened', data: '{}', meta: '{}' }
const message = (id: string) => ({ id, key: 'a', headers: {}, body: '{}' })

function world() {
  const { schedule, born, faults } = engine({ seed: 'kills' })
  const disk = seededDisk(schedule)
  const database = seededDatabase(disk)
  return { schedule, born, faults, store: seededEventStore(disk), bus: seededBus(schedule, disk), database }
}
type World = ReturnType<typeof world>

/** Runs some work in a process that dies at a point. @returns whether it was answered, which it must not be */
async function dying({ schedule, born }: World, diesAt: Death, work: (process: ReturnType<World['born']>) => Promise<unknown>) {
  const process = born('dying', { diesAt })
  let answered = false
  const end = (): void => void (answered = true)
  void work(process).then(end, end)
  await schedule.run()
  expect(process.alive()).toBe(false)
  expect(answered).toBe(false)
}

const makeTable = (views: Views) => views.db.schema.createTable('rows').ifNotExists().addColumn('id', 'text').execute()
const insert = (views: Views, ids: readonly string[]) =>
  views.db.transaction().execute(async (trx) => {
    const rows = trx.$extendTables<{ rows: { id: string } }>()
    for (const id of ids) await rows.insertInto('rows').values({ id }).execute()
  })
const idsIn = ({ database }: World): readonly string[] => database.rows<{ id: string }>('select id from rows').map(({ id }) => id)

describe('a process that is killed', () => {
  for (const when of ['before', 'after'] as const) {
    it(`${when} an append has appended ${when === 'after' ? 'all' : 'nothing'} and hears nothing`, async () => {
      const here = world()
      const diesAt = { point: 'store.append', when, visit: 1 }
      await dying(here, diesAt, (process) => here.store.of(process).append('order-1', 'none', [event]))
      expect(await here.store.direct.read('order-1')).toHaveLength(when === 'after' ? 1 : 0)
      expect(here.faults.counts()).toEqual({ [`killed ${when} store.append`]: 1 })
    })
    it(`${when} a publish has published ${when === 'after' ? 'all' : 'nothing'}`, async () => {
      const here = world()
      const diesAt = { point: 'bus.publish', when, visit: 1 }
      await dying(here, diesAt, (process) => here.bus.of(process).publish('orders', [message('1')]))
      expect(here.bus.topic('orders')).toHaveLength(when === 'after' ? 1 : 0)
    })
    for (const [point, visit, isThere] of [
      ['sql.begin', 1, false],
      ['sql.statement', 1, false],
      ['sql.statement', 2, false],
      ['sql.commit', 1, when === 'after'],
    ] as const)
      it(`${when} ${point} ${visit} has committed ${isThere ? 'all' : 'nothing'}, and others go on`, async () => {
        const here = world()
        const other = here.database.of(here.born('other'))
        void makeTable(other)
        await here.schedule.run()
        await dying(here, { point, when, visit }, (process) => insert(here.database.of(process), ['1', '2']))
        expect(idsIn(here)).toEqual(isThere ? ['1', '2'] : [])
        void insert(other, ['3'])
        await here.schedule.run()
        expect(idsIn(here)).toEqual(isThere ? ['1', '2', '3'] : ['3'])
      })
  }
})

/** A process has a transaction open, and two wait for theirs. */
async function waitingForTurn() {
  const here = world()
  const aMoment = () => here.schedule.run({ untilMs: here.schedule.now() + 1000 })
  const [holder, waiting, other] = [here.born('holder'), here.born('waiting'), here.born('other')]
  void makeTable(here.database.of(holder))
  await aMoment()
  const held = Promise.withResolvers<void>()
  const open = here.database.of(holder).db.transaction()
  const holding = open.execute(() => held.promise)
  await aMoment()
  for (const process of [waiting, other]) void insert(here.database.of(process), [process.name])
  await aMoment()
  return { here, waiting, other, held, holding, aMoment }
}

describe('a transaction that is left open', () => {
  it('is ended by the server, and its own end fails', async () => {
    const { here, held, holding } = await waitingForTurn()
    await here.schedule.run()
    expect([...idsIn(here)].sort()).toEqual(['other#1', 'waiting#1'])
    held.resolve()
    const reason = holding.catch(String)
    await here.schedule.run()
    expect(await reason).toMatch('rolled back')
    expect(here.faults.counts()).toEqual({ 'transaction that took too long': 1 })
  })
})

describe('what a dead process leaves', () => {
  it('is the turn at the database for which it waited', async () => {
    const { here, waiting, other, held, aMoment } = await waitingForTurn()
    waiting.kill()
    held.resolve()
    await aMoment()
    expect(idsIn(here)).toEqual([other.name])
  })
  it('goes to another of its group: what it had in hand, and what it had not kept', async () => {
    const here = world()
    const seen: string[] = []
    const [one, two] = [here.born('one'), here.born('two')]
    const listen = (bus: Bus, name: string) =>
      bus.subscribe({
        group: 'readers',
        topic: 'orders',
        handle: async ({ id }) => {
          seen.push(`${name} ${id}`)
          if (name === 'one') one.kill()
          return 'done'
        },
      })
    void listen(here.bus.of(one), 'one')
    void here.bus.of(two).publish('orders', [message('1'), message('2')])
    await here.schedule.run()
    expect(seen).toEqual(['one 1'])
    void listen(here.bus.of(two), 'two')
    await here.schedule.run()
    expect(seen).toEqual(['one 1', 'two 1', 'two 2'])
  })
  it('is silent: what it followed neither ends nor says more, and its sleepers sleep on', async () => {
    const here = world()
    const process = here.born('follower')
    const seen: string[] = []
    void (async () => {
      for await (const batch of here.store.of(process).follow({
        categories: ['order'],
        after: 'start',
        signal: new AbortController().signal,
      }))
        seen.push(...batch.map(({ stream }) => stream))
      seen.push('ended')
    })()
    void process.clock.sleep(1000).then(() => seen.push('woke up'))
    await here.store.direct.append('order-1', 'none', [event])
    await here.schedule.run({ untilMs: here.schedule.now() + 900 })
    expect(seen).toEqual(['order-1'])
    process.kill()
    await here.store.direct.append('order-2', 'none', [event])
    await here.schedule.run()
    expect(seen).toEqual(['order-1'])
  })
  it('at the so many-th visit of whoever comes, where a doom is shared, and at none that does not count', async () => {
    const here = world()
    let counts = false
    const diesAt = doom([{ point: 'store.append', when: 'before', visit: 2 }], () => counts)
    const [one, two] = [here.born('one', { diesAt }), here.born('two', { diesAt })]
    const append = async (process: typeof one, stream: string): Promise<void> => {
      void here.store.of(process).append(stream, 'none', [{ ...event, id: event.id.replace(/1$/, stream.slice(-1)) }])
      await here.schedule.run()
    }
    await append(one, 'order-1')
    counts = true
    await append(one, 'order-2')
    expect([one.alive(), two.alive()]).toEqual([true, true])
    await append(two, 'order-3')
    expect([one.alive(), two.alive()]).toEqual([true, false])
    expect(await here.store.direct.read('order-3')).toEqual([])
    await append(one, 'order-4')
    expect(one.alive()).toBe(true)
  })
})
