import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
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
  const { views, progress } = (await createMemoryPlatform()).platform
  const db = views.db.$extendTables<Tables>()
  await db.schema
    .createTable('claims')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('count', 'integer')
    .execute()
  const broken = new Set<string>()
  const woken: string[] = []
  const projection = {
    name: 'claims',
    version: 1,
    from: [payhash],
    migrate: () => Promise.resolve(),
    apply: async (
      trx: Parameters<Parameters<ReturnType<typeof db.transaction>['execute']>[0]>[0],
      { aggregateId: id }: Event,
    ) => {
      await trx
        .insertInto('claims')
        .values({ id, count: 1 })
        .onConflict((conflict) => conflict.column('id').doUpdateSet((row) => ({ count: row('claims.count', '+', 1) })))
        .execute()
      if (broken.has(id)) throw new Error('the code is wrong')
    },
    onCommitted: (events: readonly Event[]) => void woken.push(...events.map(({ id }) => id)),
  }
  const start = () => createProjector({ service: 'gateway', views, progress }, projection, 'settlement', [payhash])
  const rows = async () =>
    Object.fromEntries((await db.selectFrom('claims').selectAll().execute()).map(({ id, count }) => [id, count]))
  return { start, rows, broken, woken }
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
