import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { verifyLog } from './verify.ts'
import { createLedgerCheck } from './ledger-check.ts'
import { CHAIN_START, sealFacts, hashState } from '@penstock/runtime/commands/event-codec.ts'
import { defineAggregate, defineService } from '@penstock/runtime/service.ts'

type Counter = { readonly orders: readonly string[] }
const counter: Decider<Counter, Command, Fact<'PayhashClaimed', { orderId: string }>> = {
  initial: { orders: [] },
  evolve: (state, { data }) => ({ orders: [...state.orders, data.orderId] }),
  decide: () => accept(),
}
const services = [
  defineService('settlement', {
    aggregates: [
      defineAggregate({
        contract: contractOf('payhash'),
        decider: counter,
        hashed: { version: 1, projections: { 1: (state) => state } }, // the state hash covers the whole state
      }),
    ],
  }),
]

/** Creates a store with one stream, whose events have the form that the command handler writes. */
async function createStore(appends: number): Promise<EventStore> {
  const { store } = await createMemoryPlatform()
  let chain = CHAIN_START
  let state = counter.initial
  for (let n = 0; n < appends; n++) {
    const fact: Fact<'PayhashClaimed', { orderId: string }> = { type: 'PayhashClaimed', v: 1, data: { orderId: `order ${n}` } }
    state = counter.evolve(state, fact)
    const meta = { command: `c${n}`, at: n, correlation: 'o', trace: 't', state: hashState(1, state) }
    const sealed = sealFacts({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return store
}

test('an unchanged store has no divergence', async () => {
  assert.deepEqual(await verifyLog(await createStore(5), services), {
    streams: 1,
    events: 5,
    divergences: 0,
    ledger_balanced: true,
    first: null,
    findings: [],
  })
})

test('a changed byte of any event is reported at the revision of that event', async () => {
  const honest = await (await createStore(4)).readAll('start', 100)
  await fc.assert(
    fc.asyncProperty(
      fc.nat(3),
      fc.constantFrom('data' as const, 'meta' as const, 'id' as const),
      fc.nat(),
      async (index, field, at) => {
        const forged = honest.map((event, n) => (n === index ? { ...event, [field]: flip(event[field], at) } : event))
        const report = await verifyLog(readOnly(forged), services)
        assert.equal(report.divergences, 1)
        assert.equal(report.first?.revision, index)
      },
    ),
  )
})

test('a removed or swapped event is reported', async () => {
  const honest = await (await createStore(4)).readAll('start', 100)
  const without = honest.filter((_, n) => n !== 1)
  const missing = { stream: 'payhash-x', revision: 1, what: 'revision 1 is missing' }
  assert.deepEqual((await verifyLog(readOnly(without), services)).first, missing)
  const swapped = honest.map((event, n) =>
    n === 1 ? { ...honest[2]!, revision: 1 } : n === 2 ? { ...honest[1]!, revision: 2 } : event,
  )
  assert.equal((await verifyLog(readOnly(swapped), services)).divergences, 1)
})

test('a state hash with a version that only newer code knows is reported as newer, and not as another state', async () => {
  const store = await createStore(1)
  const known = services[0]?.aggregates[0]
  assert.ok(known)
  const withVersions = (version: number, versions: readonly number[]) => [
    defineService('settlement', {
      aggregates: [
        {
          ...known,
          hashed: {
            version,
            projections: Object.fromEntries(versions.map((one) => [one, known.hashed.projections[1] ?? String])),
          },
        },
      ],
    }),
  ]
  assert.equal((await verifyLog(store, withVersions(2, [1, 2]))).divergences, 0)
  assert.match(
    (await verifyLog(store, withVersions(0, [0]))).first?.what ?? '',
    /projection 1, .* is newer than this version of Penstock/,
  )
  assert.match((await verifyLog(store, withVersions(2, [2]))).first?.what ?? '', /fold to another state/)
})

test('a stream that the audit no longer caches is folded again, and a repeated first event is reported', async () => {
  const store = await createStore(3)
  const [first, second, third] = await store.readAll('start', 3)
  assert.ok(first && second && third)
  const others = await Promise.all(Array.from({ length: 5000 }, (_, n) => single(`payhash-${n}`)))
  /** Gives the events positions from 1 on, in this order. */
  const withPositions = (events: readonly StoredEvent[]) =>
    events.map((event, index) => ({ ...event, position: BigInt(index + 1) }))
  const late = withPositions([first, second, ...others, third])
  assert.deepEqual(await verifyLog(readOnly(late), services), {
    streams: 5001,
    events: 5003,
    divergences: 0,
    ledger_balanced: true,
    first: null,
    findings: [],
  })
  const twice = withPositions([first, second, ...others, first])
  assert.deepEqual((await verifyLog(readOnly(twice), services)).first, {
    stream: 'payhash-x',
    revision: 0,
    what: 'revision 0 is in the log twice',
  })
  const gap = withPositions([first, ...others, third])
  assert.deepEqual((await verifyLog(readOnly(gap), services)).first, {
    stream: 'payhash-x',
    revision: 1,
    what: 'revision 1 is missing',
  })
})

/** Creates the only event of a stream. */
async function single(stream: string): Promise<StoredEvent> {
  const fact: Fact<'PayhashClaimed', { orderId: string }> = { type: 'PayhashClaimed', v: 1, data: { orderId: stream } }
  const meta = {
    command: stream,
    at: 0,
    correlation: 'o',
    trace: 't',
    state: hashState(1, counter.evolve(counter.initial, fact)),
  }
  const [event] = sealFacts({ stream, revision: 0, chain: CHAIN_START }, [{ id: stream, fact, meta }]).events
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

test('a posting that does not add up to zero, or cannot be parsed, makes the ledger unbalanced', () => {
  const balanced = (...amounts: readonly string[]) => {
    const ledger = createLedgerCheck()
    const entries = amounts.map((amountMsat) => ({ account: 'a', amountMsat }))
    ledger.add({ stream: 'settlement-x', type: 'LedgerPosted', data: JSON.stringify({ entries }) })
    return ledger.isBalanced()
  }
  assert.ok(balanced('5', '-3', '-2'))
  assert.ok(!balanced('5', '-3'))
  assert.ok(!balanced('3', '-5'))
  assert.ok(!balanced('5', 'five'))
})
