import { Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { describe, expect, it } from 'vitest'
import { openSimnet } from '../simnet/simnet.ts'
import { seededBus } from './bus.ts'
import { seededDatabase } from './database.ts'
import { seededDisk } from './disk.ts'
import { engine } from './engine.ts'
import { seededEventStore } from './event-store.ts'
import type { FaultPlan } from './faults.ts'
import { seededLeases } from './leases.ts'
import { lightningFor } from './outside.ts'

const event = (id: number): NewEvent => ({
  id: `00000000-0000-4000-8000-00000000000${id}`,
  type: 'Happened',
  data: '{}',
  meta: '{}',
})
const message = { id: '1', key: 'a', headers: {}, body: '{}' }
const HASH = 'ab'.repeat(32)
const REQUEST = { paymentHash: HASH, amountMsat: 1000n, cltvDelta: 40, expirySeconds: 600, description: 'a hold' }

function world(plan: FaultPlan) {
  const { schedule, born, faults } = engine({ seed: 'late', plan })
  const disk = seededDisk(schedule)
  const random = schedule.random.fork('network').bytes
  return {
    schedule,
    born,
    faults,
    store: seededEventStore(disk),
    bus: seededBus(schedule, disk),
    database: seededDatabase(disk),
    leases: seededLeases(schedule),
    simnet: openSimnet({ path: ':memory:', blockSeconds: 0, clock: schedule.clock, random }),
    /** @returns what became of a call, as soon as it was answered */
    async answered<T>(call: Promise<T>): Promise<PromiseSettledResult<T>> {
      let result: PromiseSettledResult<T> | undefined
      void Promise.allSettled([call]).then(([only]) => (result = only))
      await schedule.run({ until: () => result !== undefined })
      if (!result) throw new Error('the call is never answered')
      return result
    },
    /** Long enough for whatever is on its way. */
    pass: () => schedule.run({ untilMs: schedule.now() + 20_100 }),
  }
}
type World = ReturnType<typeof world>

const givenUp = {
  status: 'rejected',
  reason: expect.objectContaining({ name: Fault.name, message: expect.stringContaining('in time') as unknown }) as unknown,
}
type Looks = { readonly call: (here: World, process: ReturnType<World['born']>) => Promise<unknown>; readonly isThere: IsThere }
type IsThere = (here: World) => boolean

/** What changes something at a server, and whether it has. */
const calls: Readonly<Record<'append' | 'publish' | 'lease' | 'lightning', Looks>> = {
  append: {
    call: ({ store }, process) => store.of(process).append('order-1', 'none', [event(1)]),
    isThere: ({ store }) => store.memory.log.length > 0,
  },
  publish: {
    call: ({ bus }, process) => bus.of(process).publish('orders', [message]),
    isThere: ({ bus }) => bus.topic('orders').length > 0,
  },
  lightning: {
    call: ({ simnet }, process) => lightningFor(process, simnet.lightning('market')).holds.create(REQUEST),
    isThere: ({ simnet }) => simnet.control.invoiceStatus('market', HASH) !== undefined,
  },
  lease: {
    call: ({ leases }, process) => leases.of(process).hold('relay', 'one', 60_000),
    isThere: ({ leases }) => leases.owner('relay') === 'one',
  },
}

for (const [name, { call, isThere }] of Object.entries(calls))
  describe(`a call that comes late: ${name}`, () => {
    it('is given up by its caller, who finds nothing, and is carried out afterwards', async () => {
      const here = world({ [`${name}Late`]: 1 })
      expect(await here.answered(call(here, here.born('one')))).toMatchObject(givenUp)
      expect(isThere(here)).toBe(false)
      await here.pass()
      expect(isThere(here)).toBe(true)
      expect(here.faults.counts()).toEqual({ [`${name}Late`]: 1 })
    })

    it('was on its way when its caller died, and is carried out when another has looked', async () => {
      const here = world({ [`${name}Orphan`]: 1 })
      const process = here.born('one')
      void call(here, process)
      process.kill()
      await here.schedule.run({ maxSteps: 1 })
      expect(isThere(here)).toBe(false)
      await here.pass()
      expect(isThere(here)).toBe(true)
      expect(here.faults.counts()).toEqual({ [`${name}Orphan`]: 1 })
    })

    it('is nothing without such a fault: what a dead process had on its way is gone', async () => {
      const here = world({})
      const process = here.born('one')
      void call(here, process)
      process.kill()
      await here.pass()
      expect([isThere(here), here.faults.counts()]).toEqual([false, {}])
    })
  })

describe('an append that comes late', () => {
  it('is told as appended to whoever tries it again, before it comes and after', async () => {
    for (const again of ['before', 'after']) {
      const here = world({ appendLate: 1 })
      const store = here.store.of(here.born('one'))
      expect(await here.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject(givenUp)
      here.faults.off()
      if (again === 'after') await here.pass()
      expect(await here.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject({ value: { outcome: 'appended' } })
      await here.pass()
      expect(here.store.memory.log).toHaveLength(1)
    }
  })
  it('comes to nothing where another was first, and others meet a conflict with it where it was', async () => {
    const [slow, quick] = [world({ appendLate: 1 }), world({ appendLate: 1 })]
    for (const here of [slow, quick]) {
      await here.answered(here.store.of(here.born('one')).append('order-1', 'none', [event(1)]))
      here.faults.off()
    }
    const other = (here: World) => here.answered(here.store.of(here.born('two')).append('order-1', 'none', [event(2)]))
    expect(await other(slow)).toMatchObject({ value: { outcome: 'appended' } })
    await quick.pass()
    expect(await other(quick)).toMatchObject({ value: { outcome: 'conflict', revision: 0 } })
    await slow.pass()
    expect([slow, quick].map(({ store }) => store.memory.log.map(({ id }) => id))).toEqual([[event(2).id], [event(1).id]])
  })
  it('does not keep the next one of its stream waiting', async () => {
    const here = world({ appendLate: 1 })
    const store = here.store.of(here.born('one'))
    const first = store.append('order-1', 'none', [event(1)]).catch(() => here.faults.off())
    const second = store.append('order-1', 'none', [event(2)])
    await here.answered(first)
    expect(await here.answered(second)).toMatchObject({ value: { outcome: 'appended', revision: 0 } })
    await here.pass()
    expect(here.store.memory.log.map(({ id }) => id)).toEqual([event(2).id])
  })
})

describe('a statement by itself', () => {
  it('that its caller gives up is carried out afterwards, and one that only reads is not', async () => {
    const here = world({ statementLate: 1 })
    here.faults.off()
    const { db } = here.database.of(here.born('one'))
    await here.answered(db.schema.createTable('rows').addColumn('id', 'text').execute())
    here.faults.on()
    const table = db.$extendTables<{ rows: { id: string } }>()
    expect(await here.answered(table.insertInto('rows').values({ id: '1' }).execute())).toMatchObject(givenUp)
    expect(await here.answered(table.selectFrom('rows').selectAll().execute())).toMatchObject({ value: [] })
    await here.pass()
    expect(here.database.rows('select id from rows')).toEqual([{ id: '1' }])
  })
})

describe('a payment that comes late', () => {
  it('was sent in time, and is made after its instant; one that is too late to be sent is not', async () => {
    for (const [aheadMs, state] of [
      [1, 'succeeded'],
      [-1, undefined],
    ] as const) {
      const here = world({ lightningLate: 1 })
      const process = here.born('one', { skewMs: 1500 })
      const { payments } = lightningFor(process, here.simnet.lightning('buyer'))
      const { invoice: request, payment_hash: paymentHash } = here.simnet.control.invoice('market', 1000n, 60)
      // Calls take a few milliseconds.
      const notAfter = process.clock.monotonicMs() + aheadMs * 100
      const pay = payments.pay(request, { maxFeeMsat: 1000n, timeoutMs: 1000, notAfter })
      expect(await here.answered(pay)).toMatchObject(givenUp)
      await here.pass()
      here.faults.off()
      const found = await here.answered(payments.find(paymentHash))
      expect(found).toMatchObject({ value: state && { state } })
    }
  })
})

describe('a death after a call', () => {
  it('is counted as such only where the call was carried out', async () => {
    const here = world({ appendFault: 1 })
    const process = here.born('one', { diesAt: { point: 'store.append', when: 'after', visit: 1 } })
    const store = here.store.of(process)
    expect(await here.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject({ status: 'rejected' })
    expect(process.alive()).toBe(true)
    here.faults.off()
    void store.append('order-1', 'none', [event(1)])
    await here.pass()
    expect([process.alive(), here.store.memory.log.length]).toEqual([false, 1])
    expect(here.faults.counts()).toEqual({ appendFault: 1, 'killed after store.append': 1 })
  })
  it('is a death at its failure otherwise', async () => {
    const here = world({ killAfter: 1, appendFault: 1 })
    const process = here.born('one')
    void here.store.of(process).append('order-1', 'none', [event(1)])
    await here.pass()
    expect([process.alive(), here.store.memory.log.length]).toEqual([false, 0])
    expect(here.faults.counts()).toEqual({ appendFault: 1, killAfter: 1, 'killed after a failed store.append': 1 })
  })
})
