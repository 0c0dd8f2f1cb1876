import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import type { CommandMessage } from '../commands/messages.ts'
import { createReactor } from './react.ts'
import { type Event, on } from '../service.ts'

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

/** Creates a service that claims an outpoint for each payment hash; its first `faults` decisions fail. */
async function reacting(faults: number) {
  const { platform } = await createMemoryPlatform()
  const decided: string[] = []
  const decide = async ({ id }: CommandMessage) => {
    decided.push(id)
    if (decided.length <= faults) throw new Fault('away')
  }
  const context = { service: 'channel-watcher', owns: () => true, bus: platform.bus, basePorts: platform, decide }
  const claim = on(payhash, 'PayhashClaimed', 'outpoint.ClaimOutpoint', () => [{ id: 'o', data: { orderId: ORDER, attempt: 1 } }])
  const start = () => createReactor(context, 'settlement', [payhash], [claim])
  return { start, decided, context, claim }
}

test('a fact whose command failed is handled at its next delivery', async () => {
  const { start, decided } = await reacting(1)
  const consumer = start()
  await assert.rejects(consumer.apply(event), Fault)
  await consumer.apply(event)
  assert.equal(decided.length, 2)
  await consumer.apply(event)
  assert.equal(decided.length, 2)
})

test('a fact that is read again after a restart causes the same command', async () => {
  const { start, decided } = await reacting(0)
  await start().apply(event)
  await start().apply(event)
  assert.equal(decided.length, 2)
  assert.equal(new Set(decided).size, 1)
})

test('a fact without a reaction counts as handled, and is not parsed', async () => {
  const { start, decided } = await reacting(0)
  const consumer = start()
  const stored = { id: 'e', stream: 'payhash-x', revision: 0, position: 1n, data: 'of a newer version', meta: '' }
  assert.equal(consumer.isIgnored?.({ ...stored, type: 'PayhashRefused' }), true)
  assert.equal(await consumer.lastRevision('payhash-x'), 0)
  assert.equal(consumer.isIgnored?.({ ...stored, type: 'PayhashClaimed', revision: 1 }), false)
  await consumer.apply({ ...event, revision: 1 })
  assert.equal(decided.length, 1)
  assert.equal(await consumer.lastRevision('payhash-x'), 1)
})

test('the id of a command is derived only from the fact, its consumer, the receiver and the step', async () => {
  const { start, decided } = await reacting(0)
  await start().apply(event)
  assert.deepEqual(decided, ['342bff59-9f7c-5f73-81fb-f7330de3100c'])
})

test('a preceding reaction to another fact does not change an id', async () => {
  const { decided, context, claim } = await reacting(0)
  const other = on(payhash, 'PayhashRefused', 'outpoint.ClaimOutpoint', () => [])
  await createReactor(context, 'settlement', [payhash], [claim]).apply(event)
  await createReactor(context, 'settlement', [payhash], [other, claim]).apply(event)
  assert.equal(decided.length, 2)
  assert.equal(new Set(decided).size, 1)
})

test('two reactions that send one command for one fact, and a command that is sent to one stream twice, are refused', async () => {
  const { context, claim } = await reacting(0)
  assert.throws(
    () => createReactor(context, 'settlement', [payhash], [claim, claim]),
    /two reactions to payhash PayhashClaimed that send outpoint.ClaimOutpoint/,
  )
  const twice = { ...claim, react: (given: Event) => [...claim.react(given), ...claim.react(given)] }
  await assert.rejects(createReactor(context, 'settlement', [payhash], [twice]).apply(event), /one command to one stream twice/)
})
