import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { test } from 'vitest'
import { canonical } from './canonical.ts'
import { CHAIN_START, expectedChain, metaOf, seal, stateHash } from './event-codec.ts'
import {
  commandFromBus,
  type CommandMessage,
  commandToBus,
  factFromBus,
  factToBus,
  outcomeFromBus,
  type OutcomeMessage,
  outcomeToBus,
} from './messages.ts'

/**
 * The bytes between services and in the stores. A process of this version meets messages and events that another
 * version wrote, and audits hash what was stored years ago: so nothing here changes by accident.
 */
const golden = (name: string): string => readFileSync(join(import.meta.dirname, '../golden', name), 'utf8')

/** Byte for byte. Who changes a file on purpose keeps a reader for the old bytes. */
function assertBytes(name: string, value: unknown): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  assert.equal(
    `${text}\n`,
    golden(name),
    `golden/${name} is not what is written now; older processes and stores have the file’s bytes`,
  )
}
const readMessage = (name: string): BusMessage => JSON.parse(golden(name)) as BusMessage // the test beside it compares the bytes

const orderId = '0d9a4b52-6c1f-4b7e-9d28-3f6a1c5e7b90'
const commandId = '5b0e7a43-90d2-5c61-8f3a-c47d1e2b6a58'
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const at = 1_795_176_000_000

const command: CommandMessage = {
  id: commandId,
  category: 'order',
  aggregateId: orderId,
  type: 'Withdraw',
  v: 1,
  data: { reason: 'The buyer’s request took too long: “too late”.' },
  at,
  notAfter: at + 10_000,
  correlation: orderId,
  trace,
}
const refusal: OutcomeMessage = {
  commandId,
  category: 'order',
  aggregateId: orderId,
  revision: 'none',
  refused: { code: 'ORDER_NOT_FOUND', message: 'There is no such order.' },
  at,
}
const nothingNew: OutcomeMessage = { ...refusal, revision: 7, refused: null }

/** Two facts of one append: the second one carries the hash of the state. */
const stream = `order-${orderId}`
const origin = { command: commandId, at, correlation: orderId, trace }
const state = {
  status: 'CLOSED',
  sizeSat: 1_000_000n,
  attempts: [{ attempt: 1, seller: null }],
  reason: undefined,
  'é"': '\u2028 ✓',
}
const { events, chain } = seal({ stream, revision: 0, chain: CHAIN_START }, [
  {
    id: 'b2c8f4a6-1d3e-5f70-9a8b-6c5d4e3f2a10',
    fact: { type: 'ReleaseRequested', v: 1, data: { to: 'ADMIN_CLOSED', reason: 'Asked – twice', blamed: false, by: null } },
    meta: origin,
  },
  {
    id: 'c3d9a5b7-2e4f-5081-8b9c-7d6e5f403b21',
    fact: { type: 'AdminClosed', v: 2, data: { by: 'operator', reason: 'Asked – twice' } },
    meta: { ...origin, state: stateHash(1, state) },
  },
])
const stored = events.map((event, revision): StoredEvent => ({ ...event, stream, revision, position: BigInt(40 + revision) }))

test('a command on the bus', () => {
  assertBytes('command.json', commandToBus(command))
  assert.deepEqual(commandFromBus(readMessage('command.json')), command)
})

test('outcomes on the bus: a refusal, and nothing new', () => {
  assertBytes('outcome.refused.json', outcomeToBus(refusal))
  assert.deepEqual(outcomeFromBus(readMessage('outcome.refused.json')), refusal)
  assertBytes('outcome.nothing-new.json', outcomeToBus(nothingNew))
  assert.deepEqual(outcomeFromBus(readMessage('outcome.nothing-new.json')), nothingNew)
})

test.each([
  ['fact.json', stored[0]],
  ['fact.last.json', stored[1]],
])('a fact on the bus, with the bytes that are stored: %s', (name, event) => {
  assert.ok(event)
  assertBytes(name, factToBus(event))
  assert.deepEqual(factFromBus(readMessage(name)), event)
})

test('stored events, with their metadata and hashes', () => assertBytes('stored-events.json', events))

test('the canonical text of a state is what its hash covers', () => {
  assertBytes('canonical.json', canonical(state))
  const text = golden('canonical.json').trimEnd()
  assert.equal(stateHash(1, state), `1:${createHash('sha256').update(text).digest('hex')}`)
  assert.equal(metaOf(stored[1] as StoredEvent).state, stateHash(1, state)) // there are two
})

test('the chain goes through both events, and any other byte breaks it', () => {
  const [first, last] = stored as [StoredEvent, StoredEvent] // there are two
  assert.equal(expectedChain(CHAIN_START, first), metaOf(first).chain)
  assert.equal(expectedChain(metaOf(first).chain, last), chain)
  const others = [
    { data: first.data.replace('twice', 'thrice') },
    { type: 'AdminClosed' },
    { revision: 1 },
    { stream: 'order-2' },
  ]
  for (const change of others) assert.notEqual(expectedChain(CHAIN_START, { ...first, ...change }), metaOf(first).chain)
})

test('the chain hash is plain SHA-256 over seven lines, as anybody can check', () => {
  const [event] = stored
  assert.ok(event)
  const bare = event.meta.slice(0, event.meta.indexOf(',"chain":'))
  const lines = [CHAIN_START, event.stream, event.revision, event.id, event.type, event.data, bare]
  assert.equal(metaOf(event).chain, createHash('sha256').update(lines.join('\n')).digest('hex'))
})
