import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { handleCommand, prepareCommand } from './handle-command.ts'
import { newCommand } from './messages.ts'
import { defineAggregate } from '../service.ts'
import { createStreamCache } from './stream-cache.ts'

const VALID_MS = 60_000
const HOUR_MS = 3_600_000
const STREAM = 'payhash-x'

/** The fact of a decider that records the enrichment's data, which is valid for VALID_MS. */
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const decider: Decider<null, Command<'ClaimPayhash', { orderId: string; seen: string }>, Claim> = {
  initial: null,
  evolve: () => null,
  decide: (_, { data }) => accept({ type: 'PayhashClaimed', v: 1, data: { orderId: data.seen } }),
}

/** An id that encodes the time of the enrichment. */
const seenAt = (now: number): string => `00000000-0000-4000-8000-${`${now}`.padStart(12, '0')}`

/** Creates a store whose appends fail `failures` times, each after half of VALID_MS, and one command that is repeated. */
async function world(failures: number, isStored = false) {
  const { platform, store } = await createMemoryPlatform()
  let [now, wallOffMs] = [0, 0]
  let left = failures
  const clock = { now: () => now + wallOffMs, monotonicMs: () => now, sleep: () => Promise.resolve() }
  const failing: EventStore = {
    ...store,
    async append(...batch) {
      if (left === 0) return store.append(...batch)
      left -= 1
      now += VALID_MS / 2
      if (isStored) await store.append(...batch)
      throw new Fault('no answer')
    },
  }
  const own = defineAggregate({
    contract: contractOf('payhash'),
    decider,
    hashed: { version: 1, projections: { 1: (state) => state } },
    enrich: { ClaimPayhash: () => Promise.resolve({ seen: seenAt(now) }) },
    validUntil: { ClaimPayhash: (_: object, preparedAt: number) => preparedAt + VALID_MS },
  })
  const { signal } = new AbortController()
  const ports = { ...platform, clock }
  const context = { service: 'settlement', store: failing, streams: createStreamCache(failing, () => undefined), ports, signal }
  const data = { orderId: '00000000-0000-4000-8000-000000000001' }
  const command = newCommand({
    id: 'c1',
    category: 'payhash',
    aggregateId: 'x',
    command: { type: 'ClaimPayhash', data },
    at: 0,
    correlation: 'x',
  })
  return {
    pass: (ms: number) => void (now += ms),
    wallJumps: (ms: number) => void (wallOffMs += ms),
    prepared: () => prepareCommand(context, own, command),
    decide: async (prepared = prepareCommand(context, own, command)) => handleCommand(context, own, command, await prepared),
    stored: async () => (await store.read(STREAM)).map(({ data: text }) => (JSON.parse(text) as { orderId: string }).orderId),
  }
}

test('an append is retried during a short fault', async () => {
  const { decide, stored } = await world(2)
  assert.equal((await decide()).outcome, 'accepted')
  assert.deepEqual(await stored(), [seenAt(0)])
})

test('an append is not retried after a long fault, and the repeated command is enriched again', async () => {
  const { decide, stored } = await world(3)
  await assert.rejects(decide(), Fault)
  assert.deepEqual(await stored(), [])
  assert.deepEqual(await decide(), { outcome: 'accepted', revision: 0, hasAppended: true })
  assert.deepEqual(await stored(), [seenAt(90000)])
})

test('a command whose facts were stored, but whose answer was lost, is not decided again', async () => {
  const { decide, stored } = await world(3, true)
  await assert.rejects(decide(), Fault)
  assert.deepEqual(await decide(), { outcome: 'accepted', revision: 0, hasAppended: false })
  assert.deepEqual(await stored(), [seenAt(0)])
})

test('a process that paused for too long between enrichment and append appends nothing', async () => {
  const { pass, prepared, decide, stored } = await world(0)
  const seen = await prepared()
  pass(VALID_MS + 1)
  await assert.rejects(decide(Promise.resolve(seen)), Fault)
  assert.deepEqual(await stored(), [])
})

test('a jump of the wall clock does not change the age of enriched data', async () => {
  const ahead = await world(0)
  const young = await ahead.prepared()
  ahead.wallJumps(HOUR_MS)
  assert.equal((await ahead.decide(Promise.resolve(young))).outcome, 'accepted')
  const back = await world(0)
  const old = await back.prepared()
  back.pass(VALID_MS + 1)
  back.wallJumps(-HOUR_MS)
  await assert.rejects(back.decide(Promise.resolve(old)), Fault)
  assert.deepEqual(await back.stored(), [])
})
