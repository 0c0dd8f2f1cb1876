import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { verifyLog } from './verify.ts'
import { runHeadWriter } from './head-writer.ts'
import { CHAIN_START, sealFacts, hashState } from '@penstock/runtime/commands/event-codec.ts'
import { defineAggregate, defineService } from '@penstock/runtime/service.ts'

const counter: Decider<number, Command, Fact> = { initial: 0, evolve: (count) => count + 1, decide: () => accept() }
/** The state hash of this aggregate covers its whole state. */
const hashed = { version: 1, projections: { 1: (state: unknown) => state } }
const services = [
  defineService('settlement', { aggregates: [defineAggregate({ contract: contractOf('payhash'), decider: counter, hashed })] }),
]

/**
 * Creates a log of streams with one fact each, and its heads. `state` is the hashed state of the last fact.
 * @returns `writeHeads` writes the heads of the facts that were appended since
 */
async function createLog(streams: readonly string[], { state = 1, at = 0, headsAt = 0 } = {}) {
  const { platform, store } = await createMemoryPlatform()
  const clock = { ...platform.clock, now: () => headsAt }
  const lines: string[] = []
  for (const [n, stream] of streams.entries()) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
    const hash = hashState(1, n === streams.length - 1 ? state : 1)
    const meta = { command: `c${n}`, at, correlation: 'o', trace: 't', state: hash }
    await store.append(
      stream,
      'none',
      sealFacts({ stream, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }]).events,
    )
  }
  const append = async (line: string) => void lines.push(line)
  // This store contains no line about the end of the log.
  const noLogEnd = { end: async () => undefined, writeEnd: async () => undefined }
  const heads = {
    key: undefined,
    last: async () => lines.at(-1),
    append,
    ...noLogEnd,
    async *lines() {
      yield* lines
    },
  }
  const writeHeads = () =>
    runHeadWriter({ ...platform, clock, store, heads: { ...heads, key: new Uint8Array(32) } }, AbortSignal.abort())
  await writeHeads()
  return { store, heads, writeHeads }
}

/** Creates a log of one fact with its head, and appends later facts with these timestamps, each in its own stream. */
async function createUncoveredLog(times: readonly unknown[], options: Parameters<typeof createLog>[1] = {}) {
  const log = await createLog(['payhash-a'], options)
  for (const [n, at] of times.entries()) {
    const stream = `payhash-later-${n}`
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
    // Some tests give an invalid timestamp.
    const meta = { command: `d${n}`, at: at as number, correlation: 'o', trace: 't', state: hashState(1, 1) }
    await log.store.append(
      stream,
      'none',
      sealFacts({ stream, revision: 0, chain: CHAIN_START }, [{ id: `f${n}`, fact, meta }]).events,
    )
  }
  return log
}

test('heads reveal events that were removed from the end of the log, although every remaining stream is valid', async () => {
  const { heads } = await createLog(['payhash-a', 'payhash-b'])
  const { store: cut } = await createLog(['payhash-a'])
  const whole = await createLog(['payhash-a', 'payhash-b'])
  assert.equal((await verifyLog(whole.store, services, { heads: whole.heads })).divergences, 0)
  assert.equal((await verifyLog(cut, services)).divergences, 0)
  const { findings } = await verifyLog(cut, services, { heads })
  assert.deepEqual(findings, [
    { stream: 'log', revision: 1, what: 'the store ends at 1, the heads know 2' },
    { stream: 'payhash-b', revision: 0, what: 'its revisions 0 to 0 were there at 1970-01-01T00:00:00.000Z, and are gone' },
  ])
})

test('facts that fold to another state than the hashed state are reported, although their bytes are valid', async () => {
  const { store } = await createLog(['payhash-a'], { state: 2 })
  assert.deepEqual((await verifyLog(store, services)).first, {
    stream: 'payhash-a',
    revision: 0,
    what: 'the facts fold to another state than the one that was hashed',
  })
})

test('the report contains the number and the time span of the events after the last head', async () => {
  // The last event has an earlier timestamp than the event before it.
  const { store, heads } = await createUncoveredLog([5000, 665_000, 6000])
  const { divergences, log } = await verifyLog(store, services, { heads })
  assert.equal(divergences, 0)
  assert.deepEqual([log?.events_after, log?.late_ms], [3, 660_000])
  const signed = { ...heads, key: new Uint8Array(32) }
  /** @returns the reason why the log is not proven; null if it is proven */
  const reasonOf = async (given: Parameters<typeof verifyLog>[2]) => (await verifyLog(store, services, given)).log?.unproven
  assert.equal(await reasonOf({ heads }), 'no key')
  assert.equal(await reasonOf({ heads: signed }), 'late')
  const before = await createLog(['payhash-a'])
  const older = (await verifyLog(before.store, services, { heads: before.heads })).log?.note ?? ''
  // A note proves the events up to its position, and nothing about later events.
  for (const given of [{ note: older }, { note: `start:${'0'.repeat(64)}` }]) {
    assert.equal(await reasonOf(given), 'no heads')
    assert.equal(await reasonOf({ ...given, heads }), 'no key')
    assert.equal(await reasonOf({ ...given, heads: signed }), 'late')
  }
  for (const given of [{}, { heads }, { heads: signed }]) assert.equal(await reasonOf({ ...given, note: log?.note ?? '' }), null)
})

test('a fact has the time of its command; if the command waited for hours, late_ms begins at the last covered fact', async () => {
  const { store, heads } = await createUncoveredLog([1000, 10_005_000], { at: 10_000_000, headsAt: 10_002_000 })
  const { log } = await verifyLog(store, services, { heads: { ...heads, key: new Uint8Array(32) } })
  assert.deepEqual([log?.late_ms, log?.unproven], [5000, null])
})

test('late_ms does not depend on the time at which the last head was written', async () => {
  const { store, heads } = await createUncoveredLog([5000, 665_000], { headsAt: 700_000 })
  const key = new Uint8Array(32)
  const { log } = await verifyLog(store, services, { heads: { ...heads, key } })
  assert.deepEqual([log?.last_at, log?.late_ms, log?.unproven], [700_000, 660_000, 'late'])
  // A covered fact with a timestamp in the future does not reduce late_ms.
  const ahead = await createUncoveredLog([5000, 665_000], { at: 1e12 })
  assert.equal((await verifyLog(ahead.store, services, { heads: { ...ahead.heads, key } })).log?.late_ms, 660_000)
  // The first line records when head writing began, and covers no event.
  const [firstLine = ''] = await Array.fromAsync(heads.lines())
  async function* lines() {
    yield firstLine
  }
  const bare = await verifyLog(store, services, { heads: { key, lines } })
  assert.deepEqual([bare.log?.events_after, bare.log?.late_ms, bare.log?.unproven], [3, 665_000, 'late'])
})

test('an audit ends although the market appends events without a pause', async () => {
  const { store, heads, writeHeads } = await createLog(['payhash-a'])
  let more = 0
  const growing: Pick<typeof store, 'read' | 'readAll'> = {
    read: (...args) => store.read(...args),
    async readAll(...from) {
      const stream = `payhash-more-${more++}`
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
      const meta = { command: stream, at: 0, correlation: 'o', trace: 't', state: hashState(1, 1) }
      assert.ok(more < 100)
      const place = { stream, revision: 0, chain: CHAIN_START }
      await store.append(stream, 'none', sealFacts(place, [{ id: stream, fact, meta }]).events)
      if (more % 4 === 0) await writeHeads()
      return store.readAll(...from)
    },
  }
  const { divergences, first, log } = await verifyLog(growing, services, { heads: { ...heads, key: new Uint8Array(32) } })
  assert.deepEqual([divergences, first, log?.unproven], [0, null, null])
})

test.each([['x'], [null], [1e300], [1.5]])('a fact with the timestamp %j is reported and hides no late fact', async (time) => {
  const { store, heads } = await createUncoveredLog([5000, time, 665_000])
  const { divergences, first, log } = await verifyLog(store, services, { heads })
  assert.equal(divergences, 1)
  assert.equal(first?.what, 'its metadata has no valid timestamp')
  assert.ok((log?.late_ms ?? 0) >= 660_000)
})

test('an event that the market appends with its head at the end of an audit is read, and is no divergence', async () => {
  const { store, heads, writeHeads } = await createLog(['payhash-a'])
  let isGrown = false
  const growing: Pick<typeof store, 'read' | 'readAll'> = {
    read: (...args) => store.read(...args),
    async readAll(...from) {
      const page = await store.readAll(...from)
      if (page.length === 0 && !isGrown) {
        isGrown = true
        const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
        const meta = { command: 'late', at: 0, correlation: 'o', trace: 't', state: hashState(1, 1) }
        const place = { stream: 'payhash-late', revision: 0, chain: CHAIN_START }
        await store.append('payhash-late', 'none', sealFacts(place, [{ id: 'late', fact, meta }]).events)
        await writeHeads()
      }
      return page
    },
  }
  const { divergences, first, events, log } = await verifyLog(growing, services, { heads })
  assert.deepEqual([divergences, first, events, log?.events_after], [0, null, 2, 0])
})

test('signed heads prove the end of a log, and the note of an empty log proves nothing', async () => {
  const { store, heads } = await createLog(['payhash-a'])
  const signed = { ...heads, key: new Uint8Array(32) }
  assert.equal((await verifyLog(store, services, { heads: signed })).log?.unproven, null)
  const { store: empty } = await createLog([])
  assert.equal((await verifyLog(empty, services, { note: `start:${'0'.repeat(64)}` })).log?.unproven, 'no heads')
})
