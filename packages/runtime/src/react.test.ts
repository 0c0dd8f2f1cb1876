import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import type { CommandMessage } from './messages.ts'
import { reactor } from './react.ts'
import { ask, type Event, on } from './service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const payhash = contractOf('payhash')
const event: Event = {
  id: 'e0',
  category: 'payhash',
  aggregateId: 'x',
  revision: 0,
  position: 1n,
  at: 0,
  commandId: 'c',
  correlation: ORDER,
  fact: { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } },
}

/** A service that claims an outpoint for each hash; its first `faults` decisions fail. */
async function reacting(faults: number) {
  const { platform } = await memoryWorld()
  const decided: string[] = []
  const decide = async ({ id }: CommandMessage) => {
    decided.push(id)
    if (decided.length <= faults) throw new Fault('away')
  }
  const context = { service: 'channel-watcher', owns: () => true, bus: platform.bus, basics: platform, decide }
  const claim = on(payhash, 'PayhashClaimed', () => [
    ask(contractOf('outpoint'), 'o', 'ClaimOutpoint', { orderId: ORDER, attempt: 1 }),
  ])
  const start = () => reactor(context, 'settlement', [payhash], [claim])
  return { start, decided }
}

test('a fact whose commands failed comes again, and is handled then', async () => {
  const { start, decided } = await reacting(1)
  const consumer = start()
  await assert.rejects(consumer.apply(event), Fault)
  await consumer.apply(event)
  assert.equal(decided.length, 2)
  await consumer.apply(event)
  assert.equal(decided.length, 2)
})

test('a restart that reads a fact again sends the very same command', async () => {
  const { start, decided } = await reacting(0)
  await start().apply(event)
  await start().apply(event)
  assert.equal(decided.length, 2)
  assert.equal(new Set(decided).size, 1)
})

test('a fact that it has nothing to do with counts as seen, unread', async () => {
  const { start, decided } = await reacting(0)
  const consumer = start()
  const stored = { id: 'e', stream: 'payhash-x', revision: 0, position: 1n, data: 'of a newer version', meta: '' }
  assert.equal(consumer.passes?.({ ...stored, type: 'PayhashRefused' }), true)
  assert.equal(await consumer.seen('payhash-x'), 0)
  assert.equal(consumer.passes?.({ ...stored, type: 'PayhashClaimed', revision: 1 }), false)
  await consumer.apply({ ...event, revision: 1 })
  assert.equal(decided.length, 1)
  assert.equal(await consumer.seen('payhash-x'), 1)
})
