import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { audit } from './audit.ts'
import { ledgerCheck } from './audit-ledger.ts'
import { CHAIN_START, seal, stateHash } from './event-codec.ts'
import { aggregate, service } from './service.ts'

type Counter = { readonly orders: readonly string[] }
const counter: Decider<Counter, Command, Fact<'PayhashClaimed', { orderId: string }>> = {
  initial: { orders: [] },
  evolve: (state, { data }) => ({ orders: [...state.orders, data.orderId] }),
  decide: () => accept(),
}
const audited = [
  service('settlement', {
    aggregates: [
      aggregate({ contract: contractOf('payhash'), decider: counter, hashed: { version: 1, of: { 1: (state) => state } } }),
    ],
  }),
]

/** A store with one stream of some appends, made as the handler makes them. */
async function stored(appends: number): Promise<EventStore> {
  const { store } = await memoryWorld()
  let chain = CHAIN_START
  let state = counter.initial
  for (let n = 0; n < appends; n++) {
    const fact: Fact<'PayhashClaimed', { orderId: string }> = { type: 'PayhashClaimed', v: 1, data: { orderId: `order ${n}` } }
    state = counter.evolve(state, fact)
    const meta = { command: `c${n}`, at: n, correlation: 'o', trace: 't', state: stateHash(1, state) }
    const sealed = seal({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return store
}

test('an honest store has no divergence', async () => {
  assert.deepEqual(await audit(await stored(5), audited), {
    streams: 1,
    events: 5,
    divergences: 0,
    ledger_balanced: true,
    first: null,
    findings: [],
  })
})

test('any changed byte of any event is found, at its place', async () => {
  const honest = await (await stored(4)).readAll('start', 100)
  await fc.assert(
    fc.asyncProperty(
      fc.nat(3),
      fc.constantFrom('data' as const, 'meta' as const, 'id' as const),
      fc.nat(),
      async (index, field, at) => {
        const forged = honest.map((event, n) => (n === index ? { ...event, [field]: flip(event[field], at) } : event))
        const report = await audit(readOnly(forged), audited)
        assert.equal(report.divergences, 1)
        assert.equal(report.first?.revision, index)
      },
    ),
  )
})

test('a removed or swapped event is found', async () => {
  const honest = await (await stored(4)).readAll('start', 100)
  const without = honest.filter((_, n) => n !== 1)
  const missing = { stream: 'payhash-x', revision: 1, what: 'revision 1 is missing' }
  assert.deepEqual((await audit(readOnly(without), audited)).first, missing)
  const swapped = honest.map((event, n) =>
    n === 1 ? { ...honest[2]!, revision: 1 } : n === 2 ? { ...honest[1]!, revision: 2 } : event,
  )
  assert.equal((await audit(readOnly(swapped), audited)).divergences, 1)
})

test('a state that was hashed by a newer projection is told as such, and not as another state', async () => {
  const store = await stored(1)
  const known = audited[0]?.aggregates[0]
  assert.ok(known)
  const of = (version: number, versions: readonly number[]) => [
    service('settlement', {
      aggregates: [
        { ...known, hashed: { version, of: Object.fromEntries(versions.map((one) => [one, known.hashed.of[1] ?? String])) } },
      ],
    }),
  ]
  assert.equal((await audit(store, of(2, [1, 2]))).divergences, 0)
  assert.match((await audit(store, of(0, [0]))).first?.what ?? '', /projection 1, .* is newer than this version of Penstock/)
  assert.match((await audit(store, of(2, [2]))).first?.what ?? '', /fold to another state/)
})

test('a stream that goes on after thousands of others is folded again, and one that begins twice is found', async () => {
  const store = await stored(3)
  const [first, second, third] = await store.readAll('start', 3)
  assert.ok(first && second && third)
  const others = await Promise.all(Array.from({ length: 5000 }, (_, n) => single(`payhash-${n}`)))
  const at = (events: readonly StoredEvent[]) => events.map((event, index) => ({ ...event, position: BigInt(index + 1) }))
  const late = at([first, second, ...others, third])
  assert.deepEqual(await audit(readOnly(late), audited), {
    streams: 5001,
    events: 5003,
    divergences: 0,
    ledger_balanced: true,
    first: null,
    findings: [],
  })
  const twice = at([first, second, ...others, first])
  assert.deepEqual((await audit(readOnly(twice), audited)).first, {
    stream: 'payhash-x',
    revision: 0,
    what: 'revision 0 stands in the log twice',
  })
  const gap = at([first, ...others, third])
  assert.deepEqual((await audit(readOnly(gap), audited)).first, {
    stream: 'payhash-x',
    revision: 1,
    what: 'revision 1 is missing',
  })
})

/** A stream of one event. */
async function single(stream: string): Promise<StoredEvent> {
  const fact: Fact<'PayhashClaimed', { orderId: string }> = { type: 'PayhashClaimed', v: 1, data: { orderId: stream } }
  const meta = {
    command: stream,
    at: 0,
    correlation: 'o',
    trace: 't',
    state: stateHash(1, counter.evolve(counter.initial, fact)),
  }
  const [event] = seal({ stream, revision: 0, chain: CHAIN_START }, [{ id: stream, fact, meta }]).events
  assert.ok(event)
  return { ...event, stream, revision: 0, position: 0n }
}

function flip(text: string, at: number): string {
  const index = at % text.length
  return text.slice(0, index) + (text[index] === 'x' ? 'y' : 'x') + text.slice(index + 1)
}

const readOnly = (events: readonly StoredEvent[]): Pick<EventStore, 'readAll' | 'read'> => ({
  read: (stream, from = 0, max = Infinity) =>
    Promise.resolve(events.filter((event) => event.stream === stream && event.revision >= from).slice(0, max)),
  readAll: (after, max) => Promise.resolve(events.filter(({ position }) => after === 'start' || position > after).slice(0, max)),
})

test('a posting that does not add up to nothing, or cannot be read, unbalances the ledger', () => {
  const balanced = (...amounts: readonly string[]) => {
    const ledger = ledgerCheck()
    const entries = amounts.map((amountMsat) => ({ account: 'a', amountMsat }))
    ledger.add({ stream: 'settlement-x', type: 'LedgerPosted', data: JSON.stringify({ entries }) })
    return ledger.balanced()
  }
  assert.ok(balanced('5', '-3', '-2'))
  assert.ok(!balanced('5', '-3'))
  assert.ok(!balanced('3', '-5'))
  assert.ok(!balanced('5', 'five'))
})
