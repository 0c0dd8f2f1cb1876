import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { verifyLog } from './verify.ts'
import { checkExport } from './check-export.ts'
import { exportOrder } from './export-order.ts'
import { runHeadWriter } from './head-writer.ts'
import { CHAIN_START, sealFacts, hashState } from '@penstock/runtime/commands/event-codec.ts'
import { defineAggregate, defineService } from '@penstock/runtime/service.ts'

const counter: Decider<number, Command, Fact> = { initial: 0, evolve: (count) => count + 1, decide: () => accept() }
const hashed = { version: 1, projections: { 1: (state: unknown) => state } }
const services = ['payhash', 'match'].map((category) =>
  defineService(category, { aggregates: [defineAggregate({ contract: contractOf(category), decider: counter, hashed })] }),
)
const KEY = new Uint8Array(32)

/** Creates an event store with log heads, in memory. */
async function world() {
  const { platform, store } = await createMemoryPlatform()
  const lines: string[] = []
  let end: string | undefined
  const kept = {
    key: KEY,
    last: async () => lines.at(-1),
    append: async (line: string) => void lines.push(line),
    end: async () => end,
    writeEnd: async (line: string) => void (end = line),
    async *lines() {
      yield* lines
    },
  }
  let count = 0
  return {
    store,
    kept,
    lines,
    /** Appends facts of one command; `states` says which of them have a state hash. */
    append: async (stream: string, states: readonly boolean[], command = `c${count}`) => {
      const known = await store.read(stream)
      const revision = known.length
      const chain = (known.at(-1)?.meta ?? '').slice(-66, -2) || CHAIN_START
      const facts = states.map((hasState, n) => {
        const fact = { type: stream.startsWith('match') ? 'Unmatched' : 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
        const state = hasState && { state: hashState(1, revision + n + 1) }
        return { id: `e${count++}`, fact, meta: { command, at: platform.clock.now(), correlation: 'o', trace: 't', ...state } }
      })
      await store.append(stream, revision === 0 ? 'none' : revision - 1, sealFacts({ stream, revision, chain }, facts).events)
    },
    keep: () => runHeadWriter({ ...platform, store, heads: kept }, AbortSignal.abort()),
  }
}

test('an append whose last event has no state hash is reported, in the middle of a stream and at its end', async () => {
  const { store, append } = await world()
  await append('payhash-whole', [false, false, true])
  await append('payhash-whole', [true])
  assert.equal((await verifyLog(store, services)).divergences, 0)
  await append('payhash-middle', [false, false], 'first')
  await append('payhash-middle', [true], 'second')
  await append('payhash-end', [true])
  await append('payhash-end', [false])
  const what = 'the last event of its append has no state hash'
  assert.deepEqual((await verifyLog(store, services)).findings, [
    { stream: 'payhash-middle', revision: 1, what },
    { stream: 'payhash-end', revision: 1, what },
  ])
})

test('an exported order whose last event has no state hash has a divergence', async () => {
  const { store, append } = await world()
  await append('match-x', [false])
  const file = await exportOrder(store, 'x', 0)
  const { divergences } = checkExport(JSON.stringify(file), services)
  assert.ok(divergences.some(({ what }) => what === 'the last event of its append has no state hash'))
})

test('more than 5,000 events without a head make the end of the log unproven, whatever their timestamps', async () => {
  const { store, kept, append, keep } = await world()
  await append('payhash-a', [true])
  await keep()
  const many = (count: number) => Array.from({ length: count }, (_, n) => n === count - 1)
  for (let n = 0; n < 10; n++) await append(`payhash-${n}`, many(500))
  const unproven = async () => (await verifyLog(store, services, { heads: kept })).log?.unproven
  assert.equal(await unproven(), null)
  await append('payhash-one', [true])
  assert.equal(await unproven(), 'uncovered')
})

test('an audit reports a gap unless it gets a note from after the gap', async () => {
  const { store, kept, append, keep } = await world()
  await append('payhash-a', [true])
  await keep()
  const before = (await verifyLog(store, services, { heads: kept })).log?.note ?? ''
  const many = Array.from({ length: 500 }, (_, n) => n === 499)
  for (const stream of ['payhash-b', 'payhash-c', 'payhash-d']) await append(stream, many)
  await keep()
  const { note = '', gaps } = (await verifyLog(store, services, { heads: kept })).log ?? {}
  assert.deepEqual(
    gaps?.map(({ from, position, events }) => [from, position, events]),
    [['1', '1501', 1500]],
  )
  await append('payhash-e', [true])
  await keep()
  const unprovenBy = async (given?: string) =>
    (await verifyLog(store, services, { heads: kept, ...(given !== undefined && { note: given }) })).log?.unproven
  assert.equal(await unprovenBy(), 'gap')
  assert.equal(await unprovenBy(before), 'gap')
  assert.equal(await unprovenBy(note), null)
})

test('the last known end of the log reveals a replaced log, even if heads were removed', async () => {
  const { store, kept, append, keep, lines } = await world()
  for (const stream of ['payhash-a', 'payhash-b']) await append(stream, [true])
  await keep()
  lines.splice(1)
  assert.equal((await verifyLog(store, services, { heads: kept })).divergences, 0)
  const other = await world()
  for (const stream of ['payhash-a', 'payhash-c']) await other.append(stream, [true])
  const what = 'the log up to position 2 is not the one of the last known end'
  assert.deepEqual((await verifyLog(other.store, services, { heads: kept })).findings, [{ stream: 'log', revision: 2, what }])
  const forged = { ...kept, end: async () => (await kept.end())?.replace('"at":', '"at":1') }
  assert.match((await verifyLog(store, services, { heads: forged })).first?.what ?? '', /end of the log is not signed/)
})

test("an audit of another market's store reports only that fact, and a date as id identifies no market", async () => {
  const [ours, theirs] = [await world(), await world()]
  const names = ['a', 'b'].map((digit) => `payhash-${digit.repeat(32)}`)
  for (const [n, { append, keep }] of [ours, theirs].entries()) {
    await append('payhash-2026-11-26', [true])
    await keep()
    await append(names[n] ?? '', [true])
    await keep()
  }
  const { findings, log } = await verifyLog(theirs.store, services, { heads: ours.kept })
  const what = `this store belongs to another market: it begins with ${names[1]}, and its heads with ${names[0]}`
  assert.deepEqual(findings, [{ stream: 'log', revision: 2, what }])
  assert.deepEqual([log?.store_begins_with, log?.heads_begin_with], [names[1], names[0]])
  assert.equal((await verifyLog(ours.store, services, { heads: ours.kept })).divergences, 0)
})

test('damage that the store reports is a finding, and an unreachable store makes the audit fail', async () => {
  const { store, append, kept, keep } = await world()
  await append('payhash-a', [true])
  await keep()
  const failing = (error: Error) => ({ ...store, readAll: async () => Promise.reject(error) })
  assert.deepEqual((await verifyLog(failing(new Bug('the file is damaged')), services, { heads: kept })).findings, [
    { stream: 'log', revision: 0, what: 'the store cannot be read from its beginning: the file is damaged' },
  ])
  await assert.rejects(verifyLog(failing(new Fault('the server is away')), services), /is away/)
})
