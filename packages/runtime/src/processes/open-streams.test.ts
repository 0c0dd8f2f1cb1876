import assert from 'node:assert/strict'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { migrateOpenStreams, trackOpenStreams } from './open-streams.ts'

test('a run that could not be saved is saved by the next flush', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateOpenStreams(views)
  const { db } = views
  const index = trackOpenStreams(views, 'order')
  index.recordRun('order-1', { revision: 4, pendingStep: 'command' })
  await db.schema.alterTable('unfinished_streams').renameTo('elsewhere').execute()
  await assert.rejects(index.flush(1), /unfinished_streams/)
  await db.schema.alterTable('elsewhere').renameTo('unfinished_streams').execute()
  index.recordRun('order-2', { revision: 0, pendingStep: 'command' })
  assert.deepEqual([...(await index.listAll(['order'], 2))].sort(), ['order-1', 'order-2'])
})

test('a relay that paused does not undo newer records of other replicas', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateOpenStreams(views)
  const [active, paused] = [trackOpenStreams(views, 'order'), trackOpenStreams(views, 'order')]
  const touch = (index: typeof active, revision: number) =>
    views.db.transaction().execute((trx) => index.touch(trx, new Map([['order-1', revision]]), revision))
  paused.recordRun('order-1', { revision: 5, pendingStep: 'deadline' })
  active.recordRun('order-1', { revision: 7, pendingStep: 'command' })
  await active.flush(7)
  await touch(active, 7)
  assert.deepEqual(await paused.listBehind(100, 9), [])
  await touch(active, 8)
  await touch(paused, 5)
  assert.deepEqual(await paused.listBehind(100, 9), ['order-1'])
})

test('a finished run at an earlier revision does not remove a stream that has grown', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateOpenStreams(views)
  const [paused, relay] = [trackOpenStreams(views, 'order'), trackOpenStreams(views, 'order')]
  const touch = (index: typeof relay, revision: number) =>
    views.db.transaction().execute((trx) => index.touch(trx, new Map([['order-1', revision]]), revision))
  await touch(relay, 6)
  // Another replica ran the process at revision 5, and records the run late.
  paused.recordRun('order-1', { revision: 5, pendingStep: 'nothing' })
  await paused.flush(7)
  assert.deepEqual(await relay.listBehind(100, 9), ['order-1'])
  // The relay of that replica is behind too.
  await touch(paused, 5)
  assert.deepEqual(await relay.listBehind(100, 9), ['order-1'])
  paused.recordRun('order-1', { revision: 6, pendingStep: 'nothing' })
  await paused.flush(8)
  assert.equal(await relay.count(), 0)
})

test('a run that the relay has saved with its position is not saved again by the next flush', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateOpenStreams(views)
  const index = trackOpenStreams(views, 'order')
  index.recordRun('order-1', { revision: 3, pendingStep: 'command' })
  index.recordRun('order-2', { revision: 5, pendingStep: 'command' })
  const grown = new Map([
    ['order-1', 3],
    ['order-2', 4],
  ])
  index.confirmSaved(await views.db.transaction().execute((trx) => index.touch(trx, grown, 1)))
  assert.deepEqual(await index.listBehind(9, 9), [])
  await views.db.deleteFrom('unfinished_streams' as never).execute()
  await index.flush(2)
  // Only the run beyond the relay's position was still to be saved.
  assert.deepEqual(await index.listAll(['order'], 3), ['order-2'])
})
