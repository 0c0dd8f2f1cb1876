import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider, refuse } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { handleCommand } from './handle-command.ts'
import { newCommand } from './messages.ts'
import { defineAggregate } from '../service.ts'
import { createStreamCache } from './stream-cache.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const NEXT = '00000000-0000-4000-8000-000000000003'
const KEY_HOLDER = '00000000-0000-4000-8000-000000000002'

/**
 * A decider that counts its commands. NEXT is possible only as the third command. After one fact, every command except
 * KEY_HOLDER is refused. Unlike a real decider, it leaves the detection of repeated commands to the runtime.
 */
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const decider: Decider<{ readonly count: number }, Command<'ClaimPayhash', { orderId: string }>, Claim> = {
  initial: { count: 0 },
  evolve: ({ count }) => ({ count: count + 1 }),
  decide({ count }, { data: { orderId } }) {
    if (orderId === NEXT && count !== 2) throw new Bug('the next comes third')
    if (count === 1 && orderId !== KEY_HOLDER) return refuse('LOCKED', 'It is locked.')
    return accept({ type: 'PayhashClaimed', v: 1, data: { orderId } })
  },
}
const own = defineAggregate({
  contract: contractOf('payhash'),
  decider,
  hashed: { version: 1, projections: { 1: (state) => state } },
})

/** Creates two processes that decide commands of one stream, each with its own fold. */
async function replicas() {
  const { platform, store } = await createMemoryPlatform()
  const replica = () => {
    const { signal } = new AbortController()
    const context = { service: 'settlement', store, streams: createStreamCache(store, () => undefined), ports: platform, signal }
    return (id: string, orderId = KEY_HOLDER) => {
      const command = { type: 'ClaimPayhash', data: { orderId } }
      const message = newCommand({ id, category: 'payhash', aggregateId: 'x', command, at: 0, correlation: ORDER })
      return handleCommand(context, own, message, { data: command.data })
    }
  }
  return { one: replica(), other: replica(), stored: () => store.read('payhash-x') }
}

test('a repeated command gets its first outcome, and appends nothing', async () => {
  const { one, other, stored } = await replicas()
  assert.deepEqual(await one('c1'), { outcome: 'accepted', revision: 0, hasAppended: true })
  await one('c2')
  for (const run of [one, other]) assert.deepEqual(await run('c1'), { outcome: 'accepted', revision: 0, hasAppended: false })
  assert.equal((await stored()).length, 2)
})

test('a process reads the stream and decides again after a conflict', async () => {
  const { one, other, stored } = await replicas()
  await one('c1')
  await other('c2')
  assert.deepEqual(await one('c3'), { outcome: 'accepted', revision: 2, hasAppended: true })
  assert.equal((await stored()).length, 3)
})

test('a command is not refused because of a state that another replica has changed', async () => {
  const { one, other } = await replicas()
  await one('c1')
  assert.equal((await one('c2', ORDER)).outcome, 'refused')
  await other('c3')
  assert.deepEqual(await one('c4', ORDER), { outcome: 'accepted', revision: 2, hasAppended: true })
})

test('an impossible command throws only if the fold is current, and otherwise the stream is read again', async () => {
  const { one, other, stored } = await replicas()
  await one('c1')
  await other('c2')
  assert.deepEqual(await one('c3', NEXT), { outcome: 'accepted', revision: 2, hasAppended: true })
  await assert.rejects(one('c4', NEXT), /the next comes third/)
  assert.equal((await stored()).length, 3)
})
