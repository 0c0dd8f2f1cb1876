import assert from 'node:assert/strict'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { migrateUnfinished, unfinished } from './unfinished.ts'

test('what could not be written down is written down the next time', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateUnfinished(views)
  const { db } = views
  const index = unfinished(views, 'order')
  index.ran('order-1', { revision: 4, asks: 'command' })
  await db.schema.alterTable('unfinished_streams').renameTo('elsewhere').execute()
  await assert.rejects(index.flush(1), /unfinished_streams/)
  await db.schema.alterTable('elsewhere').renameTo('unfinished_streams').execute()
  index.ran('order-2', { revision: 0, asks: 'command' })
  assert.deepEqual([...(await index.all(['order'], 2))].sort(), ['order-1', 'order-2'])
})

test('a relay that slept takes nothing back that others have told of or done since', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateUnfinished(views)
  const [awake, asleep] = [unfinished(views, 'order'), unfinished(views, 'order')]
  const touch = (index: typeof awake, revision: number) =>
    views.db.transaction().execute((trx) => index.touch(trx, new Map([['order-1', revision]]), revision))
  asleep.ran('order-1', { revision: 5, asks: 'deadline' })
  awake.ran('order-1', { revision: 7, asks: 'command' })
  await awake.flush(7)
  await touch(awake, 7)
  assert.deepEqual(await asleep.behind(100, 9), [])
  await touch(awake, 8)
  await touch(asleep, 5)
  assert.deepEqual(await asleep.behind(100, 9), ['order-1'])
})

test('a process that rested at an earlier revision than the stream has now drops nothing', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateUnfinished(views)
  const [asleep, relay] = [unfinished(views, 'order'), unfinished(views, 'order')]
  const grown = (index: typeof relay, revision: number) =>
    views.db.transaction().execute((trx) => index.touch(trx, new Map([['order-1', revision]]), revision))
  await grown(relay, 6)
  // Another replica ran the process at revision 5, and says so late.
  asleep.ran('order-1', { revision: 5, asks: 'nothing' })
  await asleep.flush(7)
  assert.deepEqual(await relay.behind(100, 9), ['order-1'])
  // The relay of that replica is behind too.
  await grown(asleep, 5)
  assert.deepEqual(await relay.behind(100, 9), ['order-1'])
  asleep.ran('order-1', { revision: 6, asks: 'nothing' })
  await asleep.flush(8)
  assert.equal(await relay.count(), 0)
})
