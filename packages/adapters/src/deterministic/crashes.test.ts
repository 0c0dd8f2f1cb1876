import { describe, expect, it } from 'vitest'
import type { Bus } from '@penstock/ports/bus.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import type { Views } from '@penstock/ports/views.ts'
import { deterministicBus } from './bus.ts'
import { deterministicDatabase } from './database.ts'
import { deterministicDisk } from './disk.ts'
import { createSimulationEngine } from './simulation-engine.ts'
import { deterministicEventStore } from './event-store.ts'
import { type CrashPoint, createCrashTrigger } from './faults/crash-injection.ts'

const event: NewEvent = { id: '00000000-0000-4000-8000-000000000001', type: 'Happened', data: '{}', meta: '{}' }
const message = (id: string) => ({ id, key: 'a', headers: {}, body: '{}' })

function createFixture() {
  const { schedule, startProcess, faults } = createSimulationEngine({ seed: 'kills' })
  const disk = deterministicDisk(schedule)
  const database = deterministicDatabase(disk)
  return {
    schedule,
    startProcess,
    faults,
    store: deterministicEventStore(disk),
    bus: deterministicBus(schedule, disk),
    database,
  }
}
type Fixture = ReturnType<typeof createFixture>

/** Runs work in a process that crashes at a crash point, and expects that the work never gets an answer. */
async function runUntilCrash(
  { schedule, startProcess }: Fixture,
  crashAt: CrashPoint,
  work: (process: ReturnType<Fixture['startProcess']>) => Promise<unknown>,
) {
  const process = startProcess('dying', { crashAt })
  let answered = false
  const end = (): void => void (answered = true)
  void work(process).then(end, end)
  await schedule.run()
  expect(process.isAlive()).toBe(false)
  expect(answered).toBe(false)
}

const makeTable = (views: Views) => views.db.schema.createTable('rows').ifNotExists().addColumn('id', 'text').execute()
const insert = (views: Views, ids: readonly string[]) =>
  views.db.transaction().execute(async (trx) => {
    const rows = trx.$extendTables<{ rows: { id: string } }>()
    for (const id of ids) await rows.insertInto('rows').values({ id }).execute()
  })
const idsIn = ({ database }: Fixture): readonly string[] =>
  database.rows<{ id: string }>('select id from rows').map(({ id }) => id)

describe('a process that is killed', () => {
  for (const when of ['before', 'after'] as const) {
    it(`${when} an append has appended ${when === 'after' ? 'all' : 'nothing'} and gets no answer`, async () => {
      const fixture = createFixture()
      const crashAt = { point: 'store.append', when, visit: 1 }
      await runUntilCrash(fixture, crashAt, (process) => fixture.store.connect(process).append('order-1', 'none', [event]))
      expect(await fixture.store.direct.read('order-1')).toHaveLength(when === 'after' ? 1 : 0)
      expect(fixture.faults.counts()).toEqual({ [`killed ${when} store.append`]: 1 })
    })
    it(`${when} a publish has published ${when === 'after' ? 'all' : 'nothing'}`, async () => {
      const fixture = createFixture()
      const crashAt = { point: 'bus.publish', when, visit: 1 }
      await runUntilCrash(fixture, crashAt, (process) => fixture.bus.connect(process).publish('orders', [message('1')]))
      expect(fixture.bus.topic('orders')).toHaveLength(when === 'after' ? 1 : 0)
    })
    for (const [point, visit, isThere] of [
      ['sql.begin', 1, false],
      ['sql.statement', 1, false],
      ['sql.statement', 2, false],
      ['sql.commit', 1, when === 'after'],
    ] as const)
      it(`${when} ${point} ${visit} has committed ${isThere ? 'all' : 'nothing'}, and other processes continue`, async () => {
        const fixture = createFixture()
        const other = fixture.database.connect(fixture.startProcess('other'))
        void makeTable(other)
        await fixture.schedule.run()
        await runUntilCrash(fixture, { point, when, visit }, (process) => insert(fixture.database.connect(process), ['1', '2']))
        expect(idsIn(fixture)).toEqual(isThere ? ['1', '2'] : [])
        void insert(other, ['3'])
        await fixture.schedule.run()
        expect(idsIn(fixture)).toEqual(isThere ? ['1', '2', '3'] : ['3'])
      })
  }
})

/** One process holds a transaction open, and two other processes wait for theirs. */
async function waitForTransaction() {
  const fixture = createFixture()
  const aMoment = () => fixture.schedule.run({ untilMs: fixture.schedule.now() + 1000 })
  const [holder, waiting, other] = [
    fixture.startProcess('holder'),
    fixture.startProcess('waiting'),
    fixture.startProcess('other'),
  ]
  void makeTable(fixture.database.connect(holder))
  await aMoment()
  const held = Promise.withResolvers<void>()
  const open = fixture.database.connect(holder).db.transaction()
  const holding = open.execute(() => held.promise)
  await aMoment()
  for (const process of [waiting, other]) void insert(fixture.database.connect(process), [process.name])
  await aMoment()
  return { here: fixture, waiting, other, held, holding, aMoment }
}

describe('a transaction that stays open', () => {
  it('is rolled back by the server, so that its commit fails', async () => {
    const { here: fixture, held, holding } = await waitForTransaction()
    await fixture.schedule.run()
    expect([...idsIn(fixture)].sort()).toEqual(['other#1', 'waiting#1'])
    held.resolve()
    const reason = holding.catch(String)
    await fixture.schedule.run()
    expect(await reason).toMatch('rolled back')
    expect(fixture.faults.counts()).toEqual({ 'transaction that took too long': 1 })
  })
})

describe('a dead process', () => {
  it('leaves the queue for the database, so that the next process gets its transaction', async () => {
    const { here: fixture, waiting, other, held, aMoment } = await waitForTransaction()
    waiting.kill()
    held.resolve()
    await aMoment()
    expect(idsIn(fixture)).toEqual([other.name])
  })
  it('leaves its message in progress and its uncommitted messages to another consumer', async () => {
    const fixture = createFixture()
    const seen: string[] = []
    const [one, two] = [fixture.startProcess('one'), fixture.startProcess('two')]
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
    void listen(fixture.bus.connect(one), 'one')
    void fixture.bus.connect(two).publish('orders', [message('1'), message('2')])
    await fixture.schedule.run()
    expect(seen).toEqual(['one 1'])
    void listen(fixture.bus.connect(two), 'two')
    await fixture.schedule.run()
    expect(seen).toEqual(['one 1', 'two 1', 'two 2'])
  })
  it('has streams that neither end nor yield, and sleeps that never end', async () => {
    const fixture = createFixture()
    const process = fixture.startProcess('follower')
    const seen: string[] = []
    void (async () => {
      for await (const batch of fixture.store.connect(process).follow({
        categories: ['order'],
        after: 'start',
        signal: new AbortController().signal,
      }))
        seen.push(...batch.map(({ stream }) => stream))
      seen.push('ended')
    })()
    void process.clock.sleep(1000).then(() => seen.push('woke up'))
    await fixture.store.direct.append('order-1', 'none', [event])
    await fixture.schedule.run({ untilMs: fixture.schedule.now() + 900 })
    expect(seen).toEqual(['order-1'])
    process.kill()
    await fixture.store.direct.append('order-2', 'none', [event])
    await fixture.schedule.run()
    expect(seen).toEqual(['order-1'])
  })
  it('crashed at the nth counted visit of a crash trigger that two processes share', async () => {
    const fixture = createFixture()
    let isCounting = false
    const crashAt = createCrashTrigger([{ point: 'store.append', when: 'before', visit: 2 }], () => isCounting)
    const [one, two] = [fixture.startProcess('one', { crashAt }), fixture.startProcess('two', { crashAt })]
    const append = async (process: typeof one, stream: string): Promise<void> => {
      void fixture.store.connect(process).append(stream, 'none', [{ ...event, id: event.id.replace(/1$/, stream.slice(-1)) }])
      await fixture.schedule.run()
    }
    await append(one, 'order-1')
    isCounting = true
    await append(one, 'order-2')
    expect([one.isAlive(), two.isAlive()]).toEqual([true, true])
    await append(two, 'order-3')
    expect([one.isAlive(), two.isAlive()]).toEqual([true, false])
    expect(await fixture.store.direct.read('order-3')).toEqual([])
    await append(one, 'order-4')
    expect(one.isAlive()).toBe(true)
  })
})
