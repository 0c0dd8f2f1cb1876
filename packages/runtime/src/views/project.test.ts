import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { countStatements } from '@penstock/testkit/statement-counter.ts'
import type { Transaction } from 'kysely'
import { test } from 'vitest'
import { createProjectionTransactions } from './projection-transactions.ts'
import { createProjector } from './project.ts'
import type { Event } from '../service.ts'

const payhash = contractOf('payhash')
type Tables = { claims: { id: string; count: number } }

const fact = (aggregateId: string, revision: number): Event => ({
  id: `${aggregateId} ${revision}`,
  category: 'payhash',
  aggregateId,
  revision,
  position: BigInt(revision + 1),
  at: 0,
  commandId: 'c',
  correlation: 'o',
  fact: { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } },
})

/** Creates a projection that counts the facts of each stream; streams in `broken` fail after their row was written. */
async function createCounter() {
  const { platform } = await createMemoryPlatform()
  const { progress } = platform
  const { views, count: countAll } = countStatements(platform.views)
  const db = views.db.$extendTables<Tables>()
  await db.schema
    .createTable('claims')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('count', 'integer')
    .execute()
  const broken = new Set<string>()
  const woken: string[] = []
  const batches: (readonly string[])[] = []
  let [rowStatements, nextFault]: [number, Fault | undefined] = [0, undefined]
  const projection = {
    name: 'claims',
    version: 1,
    from: [payhash],
    migrate: () => Promise.resolve(),
    apply: async (trx: Transaction<object>, events: readonly Event[]) => {
      batches.push(events.map(({ id }) => id))
      const fault = nextFault
      nextFault = undefined
      if (fault) throw fault
      for (const { aggregateId: id } of events) {
        rowStatements++
        await trx
          .$extendTables<Tables>()
          .insertInto('claims')
          .values({ id, count: 1 })
          .onConflict((conflict) => conflict.column('id').doUpdateSet((row) => ({ count: row('claims.count', '+', 1) })))
          .execute()
        if (broken.has(id)) throw new Error('the code is wrong')
      }
    },
    onCommitted: (events: readonly Event[]) => void woken.push(...events.map(({ id }) => id)),
  }
  const context = { service: 'gateway', views, progress }
  const start = () => createProjector(context, projection, 'settlement', [payhash])
  /** Starts projectors of two owners with shared transactions. */
  const startTwo = () => {
    const transactions = createProjectionTransactions(context, projection)
    const startOne = (owner: string) => createProjector(context, projection, owner, [payhash], transactions)
    return [startOne('settlement'), startOne('order')] as const
  }
  const rows = async () =>
    Object.fromEntries((await db.selectFrom('claims').selectAll().execute()).map(({ id, count }) => [id, count]))
  const countProgressStatements = async (work: () => Promise<unknown>): Promise<number> => {
    const before = countAll() - rowStatements
    await work()
    return countAll() - rowStatements - before
  }
  const failOnce = (fault: Fault): void => void (nextFault = fault)
  return { start, startTwo, rows, broken, woken, batches, countProgressStatements, failOnce }
}

test('a fact counts once, even if it is repeated or the projector restarts', async () => {
  const { start, rows } = await createCounter()
  const consumer = start()
  await consumer.apply(fact('a', 0))
  await consumer.apply(fact('a', 0))
  await Promise.all([consumer.apply(fact('a', 1)), consumer.apply(fact('a', 1))])
  await start().apply(fact('a', 0))
  assert.deepEqual(await rows(), { a: 2 })
})

test('a fact that failed leaves no row or progress, wakes no reader, and is projected at its next delivery', async () => {
  const { start, rows, broken, woken } = await createCounter()
  const consumer = start()
  broken.add('a')
  await assert.rejects(consumer.apply(fact('a', 0)), /the code is wrong/)
  assert.deepEqual([await rows(), woken, await consumer.lastRevision('payhash-a')], [{}, [], -1])
  broken.clear()
  await consumer.apply(fact('a', 0))
  assert.deepEqual([await rows(), woken], [{ a: 1 }, ['a 0']])
})

test('only the faulty fact of a batch fails', async () => {
  const { start, rows, broken } = await createCounter()
  const consumer = start()
  broken.add('b')
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((id) => consumer.apply(fact(id, 0))))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await rows(), { a: 1, c: 1 })
})

test('facts that arrive during a transaction share the next one, also facts of other owners and of one stream', async () => {
  const { startTwo, rows, batches } = await createCounter()
  const [one, other] = startTwo()
  const first = one.apply(fact('a', 0))
  while (batches.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([first, one.apply(fact('b', 0)), other.apply(fact('c', 0)), one.apply(fact('b', 1))])
  assert.deepEqual(batches, [['a 0'], ['b 0', 'c 0', 'b 1']])
  assert.deepEqual(await rows(), { a: 1, b: 2, c: 1 })
  assert.deepEqual([await one.lastRevision('payhash-b'), await other.lastRevision('payhash-c')], [1, 0])
})

test('a faulty fact among many is found in parts, not by a transaction for each fact', async () => {
  const { start, rows, broken, batches } = await createCounter()
  const consumer = start()
  broken.add('s70')
  const ids = Array.from({ length: 128 }, (_, n) => `s${n}`)
  const outcomes = await Promise.allSettled(ids.map((id) => consumer.apply(fact(id, 0))))
  assert.deepEqual(
    ids.filter((_, n) => outcomes[n]?.status === 'rejected'),
    ['s70'],
  )
  assert.equal(Object.keys(await rows()).length, 127)
  // Eight transactions fail on the way to the faulty fact, and each of the seven other halves is one transaction.
  assert.equal(batches.length, 15)
})

test('a transaction records the progress of all its facts with one statement, or two if a stream has several facts', async () => {
  const { start, batches, countProgressStatements } = await createCounter()
  const consumer = start()
  const applyAll = (facts: readonly Event[]) => countProgressStatements(() => Promise.all(facts.map(consumer.apply)))
  const names = Array.from({ length: 40 }, (_, n) => `s${n}`)
  assert.equal(await applyAll(names.map((id) => fact(id, 0))), 1)
  assert.equal(await applyAll([1, 2, 3].flatMap((revision) => names.map((id) => fact(id, revision)))), 2)
  assert.deepEqual(
    batches.map(({ length }) => length),
    [40, 120],
  )
})

test('after a Fault of a batch, its facts are applied if the first of them succeeds', async () => {
  const { start, rows, batches, failOnce } = await createCounter()
  const consumer = start()
  failOnce(new Fault('two transactions waited for each other'))
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => consumer.apply(fact(id, 0))))
  assert.deepEqual(batches.slice(1), [['a 0'], ['b 0', 'c 0', 'd 0']])
  assert.deepEqual(await rows(), { a: 1, b: 1, c: 1, d: 1 })
})

test('after a restart the projector knows the last revision of each stream, so that it finds a gap', async () => {
  const { start } = await createCounter()
  await start().apply(fact('a', 0))
  assert.equal(await start().lastRevision('payhash-a'), 0)
})

test('if the database does not answer, the facts of a batch are not tried one by one', async () => {
  const { platform } = await createMemoryPlatform()
  let transactions = 0
  const transaction = () => ({ execute: () => Promise.reject(new Fault(`no answer ${++transactions}`)) })
  const db = new Proxy(platform.views.db, {
    get: (target, name): unknown => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  })
  const projection = {
    name: 'claims',
    version: 1,
    from: [payhash],
    migrate: () => Promise.resolve(),
    apply: () => Promise.resolve(),
  }
  const context = { service: 'gateway', views: { ...platform.views, db }, progress: platform.progress }
  const consumer = createProjector(context, projection, 'settlement', [payhash])
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((id) => consumer.apply(fact(id, 0))))
  assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof Fault))
  assert.equal(transactions, 2) // One for the batch, and one for its first fact.
})
