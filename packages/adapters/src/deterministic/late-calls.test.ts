import { Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { describe, expect, it } from 'vitest'
import { openSimnet } from '../simnet/simnet.ts'
import { deterministicBus } from './bus.ts'
import { deterministicDatabase } from './database.ts'
import { deterministicDisk } from './disk.ts'
import { createSimulationEngine } from './simulation-engine.ts'
import { deterministicEventStore } from './event-store.ts'
import type { FaultPlan } from './faults/fault-injector.ts'
import { deterministicLeases } from './leases.ts'
import { withLightningFaults } from './faults/port-faults.ts'

const event = (id: number): NewEvent => ({
  id: `00000000-0000-4000-8000-00000000000${id}`,
  type: 'Happened',
  data: '{}',
  meta: '{}',
})
const message = { id: '1', key: 'a', headers: {}, body: '{}' }
const HASH = 'ab'.repeat(32)
const REQUEST = { paymentHash: HASH, amountMsat: 1000n, cltvDelta: 40, expirySeconds: 600, description: 'a hold' }

function createFixture(plan: FaultPlan) {
  const { schedule, startProcess, faults } = createSimulationEngine({ seed: 'late', plan })
  const disk = deterministicDisk(schedule)
  const random = schedule.random.fork('network').bytes
  return {
    schedule,
    startProcess,
    faults,
    store: deterministicEventStore(disk),
    bus: deterministicBus(schedule, disk),
    database: deterministicDatabase(disk),
    leases: deterministicLeases(schedule),
    simnet: openSimnet({ path: ':memory:', blockSeconds: 0, clock: schedule.clock, random }),
    /** Runs the simulation until the call has settled. @returns the outcome of the call */
    async answered<T>(call: Promise<T>): Promise<PromiseSettledResult<T>> {
      let result: PromiseSettledResult<T> | undefined
      void Promise.allSettled([call]).then(([outcome]) => (result = outcome))
      await schedule.run({ until: () => result !== undefined })
      if (!result) throw new Error('the call is never answered')
      return result
    },
    /** Advances virtual time until every call in transit has arrived. */
    pass: () => schedule.run({ untilMs: schedule.now() + 20_100 }),
  }
}
type Fixture = ReturnType<typeof createFixture>

const timedOut = {
  status: 'rejected',
  reason: expect.objectContaining({ name: Fault.name, message: expect.stringContaining('in time') as unknown }) as unknown,
}
type ChangingCall = {
  readonly call: (fixture: Fixture, process: ReturnType<Fixture['startProcess']>) => Promise<unknown>
  readonly isApplied: IsThere
}
type IsThere = (fixture: Fixture) => boolean

/** Calls that change a server. `isThere` returns whether the server has applied the change. */
const calls: Readonly<Record<'append' | 'publish' | 'lease' | 'lightning', ChangingCall>> = {
  append: {
    call: ({ store }, process) => store.connect(process).append('order-1', 'none', [event(1)]),
    isApplied: ({ store }) => store.memory.log.length > 0,
  },
  publish: {
    call: ({ bus }, process) => bus.connect(process).publish('orders', [message]),
    isApplied: ({ bus }) => bus.topic('orders').length > 0,
  },
  lightning: {
    call: ({ simnet }, process) => withLightningFaults(process, simnet.lightning('market')).holds.create(REQUEST),
    isApplied: ({ simnet }) => simnet.control.invoiceStatus('market', HASH) !== undefined,
  },
  lease: {
    call: ({ leases }, process) => leases.connect(process).acquire('relay', 'one', 60_000),
    isApplied: ({ leases }) => leases.ownerOf('relay') === 'one',
  },
}

for (const [name, { call, isApplied }] of Object.entries(calls))
  describe(`a late call: ${name}`, () => {
    it('times out without an effect, and takes effect afterwards', async () => {
      const fixture = createFixture({ [`${name}Late`]: 1 })
      expect(await fixture.answered(call(fixture, fixture.startProcess('one')))).toMatchObject(timedOut)
      expect(isApplied(fixture)).toBe(false)
      await fixture.pass()
      expect(isApplied(fixture)).toBe(true)
      expect(fixture.faults.counts()).toEqual({ [`${name}Late`]: 1 })
    })

    it('takes effect after its caller has crashed during the transit', async () => {
      const fixture = createFixture({ [`${name}Orphan`]: 1 })
      const process = fixture.startProcess('one')
      void call(fixture, process)
      process.kill()
      await fixture.schedule.run({ maxSteps: 1 })
      expect(isApplied(fixture)).toBe(false)
      await fixture.pass()
      expect(isApplied(fixture)).toBe(true)
      expect(fixture.faults.counts()).toEqual({ [`${name}Orphan`]: 1 })
    })

    it('has no effect after a crash of its caller if the orphan fault is off', async () => {
      const fixture = createFixture({})
      const process = fixture.startProcess('one')
      void call(fixture, process)
      process.kill()
      await fixture.pass()
      expect([isApplied(fixture), fixture.faults.counts()]).toEqual([false, {}])
    })
  })

describe('a late append', () => {
  it('is reported as appended to a retry before and after its arrival', async () => {
    for (const retryAt of ['before', 'after']) {
      const fixture = createFixture({ appendLate: 1 })
      const store = fixture.store.connect(fixture.startProcess('one'))
      expect(await fixture.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject(timedOut)
      fixture.faults.disable()
      if (retryAt === 'after') await fixture.pass()
      expect(await fixture.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject({
        value: { outcome: 'appended' },
      })
      await fixture.pass()
      expect(fixture.store.memory.log).toHaveLength(1)
    }
  })
  it('has no effect after another append, and makes a later append conflict', async () => {
    const [slow, quick] = [createFixture({ appendLate: 1 }), createFixture({ appendLate: 1 })]
    for (const fixture of [slow, quick]) {
      await fixture.answered(fixture.store.connect(fixture.startProcess('one')).append('order-1', 'none', [event(1)]))
      fixture.faults.disable()
    }
    const other = (fixture: Fixture) =>
      fixture.answered(fixture.store.connect(fixture.startProcess('two')).append('order-1', 'none', [event(2)]))
    expect(await other(slow)).toMatchObject({ value: { outcome: 'appended' } })
    await quick.pass()
    expect(await other(quick)).toMatchObject({ value: { outcome: 'conflict', revision: 0 } })
    await slow.pass()
    expect([slow, quick].map(({ store }) => store.memory.log.map(({ id }) => id))).toEqual([[event(2).id], [event(1).id]])
  })
  it('does not delay the next append of its stream', async () => {
    const fixture = createFixture({ appendLate: 1 })
    const store = fixture.store.connect(fixture.startProcess('one'))
    const first = store.append('order-1', 'none', [event(1)]).catch(() => fixture.faults.disable())
    const second = store.append('order-1', 'none', [event(2)])
    await fixture.answered(first)
    expect(await fixture.answered(second)).toMatchObject({ value: { outcome: 'appended', revision: 0 } })
    await fixture.pass()
    expect(fixture.store.memory.log.map(({ id }) => id)).toEqual([event(2).id])
  })
})

describe('a standalone statement', () => {
  it('takes effect after its timeout if it changes rows, and is never late if it only reads', async () => {
    const fixture = createFixture({ statementLate: 1 })
    fixture.faults.disable()
    const { db } = fixture.database.connect(fixture.startProcess('one'))
    await fixture.answered(db.schema.createTable('rows').addColumn('id', 'text').execute())
    fixture.faults.enable()
    const table = db.$extendTables<{ rows: { id: string } }>()
    expect(await fixture.answered(table.insertInto('rows').values({ id: '1' }).execute())).toMatchObject(timedOut)
    expect(await fixture.answered(table.selectFrom('rows').selectAll().execute())).toMatchObject({ value: [] })
    await fixture.pass()
    expect(fixture.database.rows('select id from rows')).toEqual([{ id: '1' }])
  })
})

describe('a late payment', () => {
  it('succeeds after its deadline if it was sent before the deadline, and is not made otherwise', async () => {
    for (const [aheadMs, state] of [
      [1, 'succeeded'],
      [-1, undefined],
    ] as const) {
      const fixture = createFixture({ lightningLate: 1 })
      const process = fixture.startProcess('one', { skewMs: 1500 })
      const { payments } = withLightningFaults(process, fixture.simnet.lightning('buyer'))
      const { invoice: request, payment_hash: paymentHash } = fixture.simnet.control.invoice('market', 1000n, 60)
      // Calls take a few milliseconds, so a distance of 100 ms is unambiguous.
      const notAfter = process.clock.monotonicMs() + aheadMs * 100
      const pay = payments.pay(request, { maxFeeMsat: 1000n, timeoutMs: 1000, notAfter })
      expect(await fixture.answered(pay)).toMatchObject(timedOut)
      await fixture.pass()
      fixture.faults.disable()
      const found = await fixture.answered(payments.find(paymentHash))
      expect(found).toMatchObject({ value: state && { state } })
    }
  })
})

describe('a planned crash after a call', () => {
  it('happens only if the call took effect', async () => {
    const fixture = createFixture({ appendFault: 1 })
    const process = fixture.startProcess('one', { crashAt: { point: 'store.append', when: 'after', visit: 1 } })
    const store = fixture.store.connect(process)
    expect(await fixture.answered(store.append('order-1', 'none', [event(1)]))).toMatchObject({ status: 'rejected' })
    expect(process.isAlive()).toBe(true)
    fixture.faults.disable()
    void store.append('order-1', 'none', [event(1)])
    await fixture.pass()
    expect([process.isAlive(), fixture.store.memory.log.length]).toEqual([false, 1])
    expect(fixture.faults.counts()).toEqual({ appendFault: 1, 'killed after store.append': 1 })
  })
  it('is counted as a crash after a failed call if an injected fault kills the process', async () => {
    const fixture = createFixture({ killAfter: 1, appendFault: 1 })
    const process = fixture.startProcess('one')
    void fixture.store.connect(process).append('order-1', 'none', [event(1)])
    await fixture.pass()
    expect([process.isAlive(), fixture.store.memory.log.length]).toEqual([false, 0])
    expect(fixture.faults.counts()).toEqual({ appendFault: 1, killAfter: 1, 'killed after a failed store.append': 1 })
  })
})
