import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { handle, prepare } from './handle.ts'
import { newCommand } from './messages.ts'
import { aggregate } from './service.ts'
import { streams } from './streams.ts'

const COUNTS_MS = 60_000
const HOUR_MS = 3_600_000
const STREAM = 'payhash-x'

/** Writes down what the enrichment saw, which is true for a minute. */
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const decider: Decider<null, Command<'ClaimPayhash', { orderId: string; seen: string }>, Claim> = {
  initial: null,
  evolve: () => null,
  decide: (_, { data }) => accept({ type: 'PayhashClaimed', v: 1, data: { orderId: data.seen } }),
}

/** An id that tells when it was seen. */
const seenAt = (now: number): string => `00000000-0000-4000-8000-${`${now}`.padStart(12, '0')}`

/** A store that fails as often as it is told, each time for half a minute, and one command that comes again and again. */
async function world(failures: number, isStored = false) {
  const { platform, store } = await memoryWorld()
  let [now, wallOffMs] = [0, 0]
  let left = failures
  const clock = { now: () => now + wallOffMs, monotonicMs: () => now, sleep: () => Promise.resolve() }
  const failing: EventStore = {
    ...store,
    async append(...batch) {
      if (left === 0) return store.append(...batch)
      left -= 1
      now += COUNTS_MS / 2
      if (isStored) await store.append(...batch)
      throw new Fault('no answer')
    },
  }
  const own = aggregate({
    contract: contractOf('payhash'),
    decider,
    hashed: { version: 1, of: { 1: (state) => state } },
    enrich: { ClaimPayhash: () => Promise.resolve({ seen: seenAt(now) }) },
    goodUntil: { ClaimPayhash: (_: object, preparedAt: number) => preparedAt + COUNTS_MS },
  })
  const { signal } = new AbortController()
  const ports = { ...platform, clock }
  const context = { service: 'settlement', store: failing, streams: streams(failing, () => undefined), ports, signal }
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
    prepared: () => prepare(context, own, command),
    decide: async (prepared = prepare(context, own, command)) => handle(context, own, command, await prepared),
    stored: async () => (await store.read(STREAM)).map(({ data: text }) => (JSON.parse(text) as { orderId: string }).orderId),
  }
}

test('an append is repeated through a short fault', async () => {
  const { decide, stored } = await world(2)
  assert.equal((await decide()).outcome, 'accepted')
  assert.deepEqual(await stored(), [seenAt(0)])
})

test('through a long one it is not: what was seen before it is no longer true, and is looked at anew', async () => {
  const { decide, stored } = await world(3)
  await assert.rejects(decide(), Fault)
  assert.deepEqual(await stored(), [])
  assert.deepEqual(await decide(), { outcome: 'accepted', revision: 0, news: true })
  assert.deepEqual(await stored(), [seenAt(90000)])
})

test('what was stored although its answer was lost counts, and is not decided again', async () => {
  const { decide, stored } = await world(3, true)
  await assert.rejects(decide(), Fault)
  assert.deepEqual(await decide(), { outcome: 'accepted', revision: 0, news: false })
  assert.deepEqual(await stored(), [seenAt(0)])
})

test('who stood still between the look and the append appends nothing', async () => {
  const { pass, prepared, decide, stored } = await world(0)
  const seen = await prepared()
  pass(COUNTS_MS + 1)
  await assert.rejects(decide(Promise.resolve(seen)), Fault)
  assert.deepEqual(await stored(), [])
})

test('a wall clock that jumps makes nothing older or younger than it is', async () => {
  const ahead = await world(0)
  const young = await ahead.prepared()
  ahead.wallJumps(HOUR_MS)
  assert.equal((await ahead.decide(Promise.resolve(young))).outcome, 'accepted')
  const back = await world(0)
  const old = await back.prepared()
  back.pass(COUNTS_MS + 1)
  back.wallJumps(-HOUR_MS)
  await assert.rejects(back.decide(Promise.resolve(old)), Fault)
  assert.deepEqual(await back.stored(), [])
})
