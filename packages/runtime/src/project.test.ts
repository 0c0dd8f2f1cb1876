import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { projector } from './project.ts'
import type { Event } from './service.ts'

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

/** A projection that counts the facts of each stream; streams in `broken` fail after their row was written. */
async function counting() {
  const { views, progress } = (await memoryWorld()).platform
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
    committed: (events: readonly Event[]) => void woken.push(...events.map(({ id }) => id)),
  }
  const start = () => projector({ service: 'gateway', views, progress }, projection, 'settlement', [payhash])
  const rows = async () =>
    Object.fromEntries((await db.selectFrom('claims').selectAll().execute()).map(({ id, count }) => [id, count]))
  return { start, rows, broken, woken }
}

test('a fact counts once, however often it comes and whoever started anew', async () => {
  const { start, rows } = await counting()
  const consumer = start()
  await consumer.apply(fact('a', 0))
  await consumer.apply(fact('a', 0))
  await Promise.all([consumer.apply(fact('a', 1)), consumer.apply(fact('a', 1))])
  await start().apply(fact('a', 0))
  assert.deepEqual(await rows(), { a: 2 })
})

test('what failed leaves no row and no progress, wakes nobody, and is projected when it comes again', async () => {
  const { start, rows, broken, woken } = await counting()
  const consumer = start()
  broken.add('a')
  await assert.rejects(consumer.apply(fact('a', 0)), /the code is wrong/)
  assert.deepEqual([await rows(), woken, await consumer.seen('payhash-a')], [{}, [], -1])
  broken.clear()
  await consumer.apply(fact('a', 0))
  assert.deepEqual([await rows(), woken], [{ a: 1 }, ['a 0']])
})

test('of a batch only what is faulty fails', async () => {
  const { start, rows, broken } = await counting()
  const consumer = start()
  broken.add('b')
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((id) => consumer.apply(fact(id, 0))))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await rows(), { a: 1, c: 1 })
})

test('after a restart it is known how far each stream was projected, so that a gap shows', async () => {
  const { start } = await counting()
  await start().apply(fact('a', 0))
  assert.equal(await start().seen('payhash-a'), 0)
})

test('of a batch that the database does not answer nothing is tried in turn', async () => {
  const { platform } = await memoryWorld()
  let begun = 0
  const transaction = () => ({ execute: () => Promise.reject(new Fault(`no answer ${++begun}`)) })
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
  const consumer = projector(context, projection, 'settlement', [payhash])
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((id) => consumer.apply(fact(id, 0))))
  assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof Fault))
  assert.equal(begun, 2) // the batch, and its first piece
})
