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
  return { start, decided, context, claim }
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

test('the id of a command is derived from the fact, its consumer, the receiver and the step, and from nothing else', async () => {
  const { start, decided } = await reacting(0)
  await start().apply(event)
  assert.deepEqual(decided, ['342bff59-9f7c-5f73-81fb-f7330de3100c'])
})

test('a reaction to another fact, in front of it, changes no id', async () => {
  const { decided, context, claim } = await reacting(0)
  const other = on(payhash, 'PayhashRefused', () => [])
  await reactor(context, 'settlement', [payhash], [claim]).apply(event)
  await reactor(context, 'settlement', [payhash], [other, claim]).apply(event)
  assert.equal(decided.length, 2)
  assert.equal(new Set(decided).size, 1)
})

test('two reactions to one fact would share ids, and so would two asks without steps of their own', async () => {
  const { context, claim } = await reacting(0)
  assert.throws(() => reactor(context, 'settlement', [payhash], [claim, claim]), /two reactions to payhash PayhashClaimed/)
  const twice = { ...claim, react: (given: Event) => [...claim.react(given), ...claim.react(given)] }
  await assert.rejects(reactor(context, 'settlement', [payhash], [twice]).apply(event), /steps of their own/)
})
