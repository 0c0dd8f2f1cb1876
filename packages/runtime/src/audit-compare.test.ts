import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { audit } from './audit.ts'
import { keepHeads } from './audit-keep.ts'
import { CHAIN_START, seal, stateHash } from './event-codec.ts'
import { aggregate, service } from './service.ts'

const counter: Decider<number, Command, Fact> = { initial: 0, evolve: (count) => count + 1, decide: () => accept() }
const hashed = { version: 1, of: { 1: (state: unknown) => state } }
const audited = [
  service('settlement', { aggregates: [aggregate({ contract: contractOf('payhash'), decider: counter, hashed })] }),
]

/** A log of some streams with one fact each, that of the last given, and the heads that were kept of it. */
async function logged(streams: readonly string[], { state = 1, at = 0, headsAt = 0 } = {}) {
  const { platform, store } = await memoryWorld()
  const clock = { ...platform.clock, now: () => headsAt }
  const lines: string[] = []
  for (const [n, stream] of streams.entries()) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
    const hash = stateHash(1, n === streams.length - 1 ? state : 1)
    const meta = { command: `c${n}`, at, correlation: 'o', trace: 't', state: hash }
    await store.append(stream, 'none', seal({ stream, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }]).events)
  }
  const append = async (line: string) => void lines.push(line)
  const end = { end: async () => undefined, writeEnd: async () => undefined }
  const kept = { key: undefined, last: async () => lines.at(-1), append, ...end }
  const heads = {
    ...kept,
    async *lines() {
      yield* lines
    },
  }
  const keep = () => keepHeads({ ...platform, clock, store, heads: { ...heads, key: new Uint8Array(32) } }, AbortSignal.abort())
  await keep()
  return { store, heads, keep }
}

/** A log of one fact with its head, and facts that came later, each in a stream of its own. */
async function goneOn(times: readonly unknown[], options: Parameters<typeof logged>[1] = {}) {
  const log = await logged(['payhash-a'], options)
  for (const [n, at] of times.entries()) {
    const stream = `payhash-later-${n}`
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
    const meta = { command: `d${n}`, at: at as number, correlation: 'o', trace: 't', state: stateHash(1, 1) } // some are none
    await log.store.append(
      stream,
      'none',
      seal({ stream, revision: 0, chain: CHAIN_START }, [{ id: `f${n}`, fact, meta }]).events,
    )
  }
  return log
}

test('what was taken from the end of the log is missed by its heads, though every stream that is left is sound', async () => {
  const { heads } = await logged(['payhash-a', 'payhash-b'])
  const { store: cut } = await logged(['payhash-a'])
  const whole = await logged(['payhash-a', 'payhash-b'])
  assert.equal((await audit(whole.store, audited, { heads: whole.heads })).divergences, 0)
  assert.equal((await audit(cut, audited)).divergences, 0)
  const { findings } = await audit(cut, audited, { heads })
  assert.deepEqual(findings, [
    { stream: 'log', revision: 1, what: 'the store ends at 1, the heads know 2' },
    { stream: 'payhash-b', revision: 0, what: 'its revisions 0 to 0 were there at 1970-01-01T00:00:00.000Z, and are gone' },
  ])
})

test('facts that fold to another state than was hashed are found, though their bytes are sound', async () => {
  const { store } = await logged(['payhash-a'], { state: 2 })
  assert.deepEqual((await audit(store, audited)).first, {
    stream: 'payhash-a',
    revision: 0,
    what: 'the facts fold to another state than the one that was hashed',
  })
})

test('a log that goes on for long after its last head says for how long', async () => {
  // The last one is dated back.
  const { store, heads } = await goneOn([5000, 665_000, 6000])
  const { divergences, log } = await audit(store, audited, { heads })
  assert.equal(divergences, 0)
  assert.deepEqual([log?.events_after, log?.late_ms], [3, 660_000])
  const signed = { ...heads, key: new Uint8Array(32) }
  const provenBy = async (given: Parameters<typeof audit>[2]) => (await audit(store, audited, given)).log?.unproven
  assert.equal(await provenBy({ heads }), 'no key')
  assert.equal(await provenBy({ heads: signed }), 'late')
  const before = await logged(['payhash-a'])
  const older = (await audit(before.store, audited, { heads: before.heads })).log?.note ?? ''
  // A note proves what was there when it was made, and nothing of what came then.
  for (const given of [{ note: older }, { note: `start:${'0'.repeat(64)}` }]) {
    assert.equal(await provenBy(given), 'no heads')
    assert.equal(await provenBy({ ...given, heads }), 'no key')
    assert.equal(await provenBy({ ...given, heads: signed }), 'late')
  }
  for (const given of [{}, { heads }, { heads: signed }]) assert.equal(await provenBy({ ...given, note: log?.note ?? '' }), null)
})

test('a command that had waited for longer does not make a log late whose heads were written meanwhile', async () => {
  const { store, heads } = await goneOn([1000, 10_005_000], { at: 10_000_000, headsAt: 10_002_000 })
  const { log } = await audit(store, audited, { heads: { ...heads, key: new Uint8Array(32) } })
  assert.deepEqual([log?.late_ms, log?.unproven], [5000, null])
})

test('heads that were written late excuse nothing: it counts what they cover', async () => {
  const { store, heads } = await goneOn([5000, 665_000], { headsAt: 700_000 })
  const key = new Uint8Array(32)
  const { log } = await audit(store, audited, { heads: { ...heads, key } })
  assert.deepEqual([log?.last_at, log?.late_ms, log?.unproven], [700_000, 660_000, 'late'])
  // Nor does a fact that is dated ahead.
  const ahead = await goneOn([5000, 665_000], { at: 1e12 })
  assert.equal((await audit(ahead.store, audited, { heads: { ...ahead.heads, key } })).log?.late_ms, 660_000)
  // The line that says since when heads are kept is about no event.
  const [begun = ''] = await Array.fromAsync(heads.lines())
  async function* lines() {
    yield begun
  }
  const bare = await audit(store, audited, { heads: { key, lines } })
  assert.deepEqual([bare.log?.events_after, bare.log?.late_ms, bare.log?.unproven], [3, 665_000, 'late'])
})

test('an audit of a market that never pauses comes to its end', async () => {
  const { store, heads, keep } = await logged(['payhash-a'])
  let more = 0
  const growing: Pick<typeof store, 'read' | 'readAll'> = {
    read: (...of) => store.read(...of),
    async readAll(...from) {
      const stream = `payhash-more-${more++}`
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
      const meta = { command: stream, at: 0, correlation: 'o', trace: 't', state: stateHash(1, 1) }
      assert.ok(more < 100)
      const place = { stream, revision: 0, chain: CHAIN_START }
      await store.append(stream, 'none', seal(place, [{ id: stream, fact, meta }]).events)
      if (more % 4 === 0) await keep()
      return store.readAll(...from)
    },
  }
  const { divergences, first, log } = await audit(growing, audited, { heads: { ...heads, key: new Uint8Array(32) } })
  assert.deepEqual([divergences, first, log?.unproven], [0, null, null])
})

test.each([['x'], [null], [1e300], [1.5]])('a fact that says %j as its time is found, and hides no other', async (time) => {
  const { store, heads } = await goneOn([5000, time, 665_000])
  const { divergences, first, log } = await audit(store, audited, { heads })
  assert.equal(divergences, 1)
  assert.equal(first?.what, 'its metadata does not tell when it was recorded')
  assert.ok((log?.late_ms ?? 0) >= 660_000)
})

test('what a running market appends just as an audit ends, with its head, is read and not missed', async () => {
  const { store, heads, keep } = await logged(['payhash-a'])
  let isGrown = false
  const growing: Pick<typeof store, 'read' | 'readAll'> = {
    read: (...of) => store.read(...of),
    async readAll(...from) {
      const page = await store.readAll(...from)
      if (page.length === 0 && !isGrown) {
        isGrown = true
        const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
        const meta = { command: 'late', at: 0, correlation: 'o', trace: 't', state: stateHash(1, 1) }
        const place = { stream: 'payhash-late', revision: 0, chain: CHAIN_START }
        await store.append('payhash-late', 'none', seal(place, [{ id: 'late', fact, meta }]).events)
        await keep()
      }
      return page
    },
  }
  const { divergences, first, events, log } = await audit(growing, audited, { heads })
  assert.deepEqual([divergences, first, events, log?.events_after], [0, null, 2, 0])
})

test('heads that prove the end of a log say so, and the note of a log that has none proves nothing', async () => {
  const { store, heads } = await logged(['payhash-a'])
  const signed = { ...heads, key: new Uint8Array(32) }
  assert.equal((await audit(store, audited, { heads: signed })).log?.unproven, null)
  const { store: empty } = await logged([])
  assert.equal((await audit(empty, audited, { note: `start:${'0'.repeat(64)}` })).log?.unproven, 'no heads')
})
