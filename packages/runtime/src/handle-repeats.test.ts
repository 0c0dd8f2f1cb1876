import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider, refuse } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { must } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { handle } from './handle.ts'
import { newCommand } from './messages.ts'
import { aggregate } from './service.ts'
import { streams } from './streams.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const NEXT = '00000000-0000-4000-8000-000000000003'
const KEY_HOLDER = '00000000-0000-4000-8000-000000000002'

/**
 * Counts what it is told; the next in turn can come only third. Unlike real deciders it leaves it to the runtime that nothing is done twice. With one fact it
 * is locked for all but the key holder.
 */
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const decider: Decider<{ readonly count: number }, Command<'ClaimPayhash', { orderId: string }>, Claim> = {
  initial: { count: 0 },
  evolve: ({ count }) => ({ count: count + 1 }),
  decide({ count }, { data: { orderId } }) {
    must(orderId !== NEXT || count === 2, 'the next comes third')
    if (count === 1 && orderId !== KEY_HOLDER) return refuse('LOCKED', 'It is locked.')
    return accept({ type: 'PayhashClaimed', v: 1, data: { orderId } })
  },
}
const own = aggregate({ contract: contractOf('payhash'), decider, hashed: { version: 1, of: { 1: (state) => state } } })

/** Two processes that decide at one stream, each with a fold of its own. */
async function replicas() {
  const { platform, store } = await memoryWorld()
  const replica = () => {
    const { signal } = new AbortController()
    const context = { service: 'settlement', store, streams: streams(store, () => undefined), ports: platform, signal }
    return (id: string, orderId = KEY_HOLDER) => {
      const command = { type: 'ClaimPayhash', data: { orderId } }
      const message = newCommand({ id, category: 'payhash', aggregateId: 'x', command, at: 0, correlation: ORDER })
      return handle(context, own, message, { data: command.data })
    }
  }
  return { one: replica(), other: replica(), stored: () => store.read('payhash-x') }
}

test('a command that comes again is answered as it was, and adds nothing', async () => {
  const { one, other, stored } = await replicas()
  assert.deepEqual(await one('c1'), { outcome: 'accepted', revision: 0, news: true })
  await one('c2')
  for (const again of [one, other]) assert.deepEqual(await again('c1'), { outcome: 'accepted', revision: 0, news: false })
  assert.equal((await stored()).length, 2)
})

test('whoever meets a conflict looks at the stream again and decides anew', async () => {
  const { one, other, stored } = await replicas()
  await one('c1')
  await other('c2')
  assert.deepEqual(await one('c3'), { outcome: 'accepted', revision: 2, news: true })
  assert.equal((await stored()).length, 3)
})

test('nobody is refused for what is over by now', async () => {
  const { one, other } = await replicas()
  await one('c1')
  assert.equal((await one('c2', ORDER)).outcome, 'refused')
  await other('c3')
  assert.deepEqual(await one('c4', ORDER), { outcome: 'accepted', revision: 2, news: true })
})

test('what cannot be is one only where the fold is the newest: another replica may have seen to it', async () => {
  const { one, other, stored } = await replicas()
  await one('c1')
  await other('c2')
  assert.deepEqual(await one('c3', NEXT), { outcome: 'accepted', revision: 2, news: true })
  await assert.rejects(one('c4', NEXT), /the next comes third/)
  assert.equal((await stored()).length, 3)
})
