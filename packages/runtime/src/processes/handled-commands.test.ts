import assert from 'node:assert/strict'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { trackHandledCommands } from './handled-commands.ts'
import { migrateOpenStreams } from './open-streams.ts'

const used = { category: 'match', commandId: 'c1' }
const leased = { category: 'channel', commandId: 'c2' }

async function createReplicas() {
  const { views } = (await createMemoryPlatform()).platform
  await migrateOpenStreams(views)
  return { views, one: trackHandledCommands(views, 'order'), other: trackHandledCommands(views, 'order') }
}

test('replicas that learned of different commands both know all of them', async () => {
  const { one, other } = await createReplicas()
  one.record('order-a', used)
  other.record('order-a', leased)
  assert.deepEqual(await one.flush(1), ['order-a'])
  assert.deepEqual(await other.flush(2), ['order-a'])
  assert.deepEqual([one.has('order-a', leased), other.has('order-a', used)], [false, false])
  for (const replica of [one, other]) {
    await replica.load(['order-a', 'order-b'])
    assert.deepEqual([replica.has('order-a', used), replica.has('order-a', leased)], [true, true])
  }
  assert.deepEqual(await one.flush(3), [])
})

test('only the receiver of a command shows that it was handled', async () => {
  const { one } = await createReplicas()
  one.record('order-a', { ...used, category: 'channel' })
  assert.equal(one.has('order-a', used), false)
  assert.equal(one.has('order-b', { ...used, category: 'channel' }), false)
})

test('records that could not be saved are saved by the next flush', async () => {
  const { views, one, other } = await createReplicas()
  one.record('order-a', used)
  await views.db.schema.alterTable('handled_commands').renameTo('elsewhere').execute()
  await assert.rejects(one.flush(1), /handled_commands/)
  await views.db.schema.alterTable('elsewhere').renameTo('handled_commands').execute()
  one.record('order-a', leased)
  await one.flush(2)
  await other.load(['order-a'])
  assert.deepEqual([other.has('order-a', used), other.has('order-a', leased)], [true, true])
})

test('a pruned row is written again when the command is shown again', async () => {
  const { views, one } = await createReplicas()
  const isStored = async (): Promise<boolean> => {
    const restarted = trackHandledCommands(views, 'order')
    await restarted.load(['order-a'])
    return restarted.has('order-a', used)
  }
  one.record('order-a', used)
  await one.flush(1)
  await one.prune(1)
  assert.equal(await isStored(), true)
  await one.prune(2)
  assert.equal(await isStored(), false)
  one.record('order-a', used)
  await one.flush(3)
  assert.equal(await isStored(), true)
})
