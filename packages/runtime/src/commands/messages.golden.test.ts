import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { test } from 'vitest'
import { toCanonicalJson } from './canonical-json.ts'
import { deriveId } from './derived-ids.ts'
import { CHAIN_START, computeExpectedChain, readMeta, sealFacts, hashState } from './event-codec.ts'
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
 * The expected bytes of messages and stored events. They must not change by accident, because processes read messages and
 * events of other versions, and audits hash events that are years old.
 */
const golden = (name: string): string => readFileSync(join(import.meta.dirname, '../../golden', name), 'utf8')

/** Compares all bytes. After an intended change of a file, a reader of the old bytes has to stay. */
function assertBytes(name: string, value: unknown): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  assert.equal(`${text}\n`, golden(name), `the bytes differ from golden/${name}, which older processes write and stores contain`)
}
const readMessage = (name: string): BusMessage => JSON.parse(golden(name)) as BusMessage // Each test also compares the bytes.

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

/** Two facts of one append. The second fact has the hash of the state. */
const stream = `order-${orderId}`
const origin = { command: commandId, at, correlation: orderId, trace }
const state = {
  status: 'CLOSED',
  sizeSat: 1_000_000n,
  attempts: [{ attempt: 1, seller: null }],
  reason: undefined,
  'é"': '\u2028 ✓',
}
const { events, chain } = sealFacts({ stream, revision: 0, chain: CHAIN_START }, [
  {
    id: 'b2c8f4a6-1d3e-5f70-9a8b-6c5d4e3f2a10',
    fact: { type: 'ReleaseRequested', v: 1, data: { to: 'ADMIN_CLOSED', reason: 'Asked – twice', blamed: false, by: null } },
    meta: origin,
  },
  {
    id: 'c3d9a5b7-2e4f-5081-8b9c-7d6e5f403b21',
    fact: { type: 'AdminClosed', v: 2, data: { by: 'operator', reason: 'Asked – twice' } },
    meta: { ...origin, state: hashState(1, state) },
  },
])
const stored = events.map((event, revision): StoredEvent => ({ ...event, stream, revision, position: BigInt(40 + revision) }))

test('a command on the bus has the golden bytes, and its id gets the namespace of its sender', () => {
  assertBytes('command.json', commandToBus(command))
  const id = deriveId('bus', 'gateway', command.id)
  assert.deepEqual(commandFromBus('gateway', readMessage('command.json')), { ...command, id })
})

test('outcomes on the bus have the golden bytes, for a refusal and for no change', () => {
  assertBytes('outcome.refused.json', outcomeToBus(refusal))
  assert.deepEqual(outcomeFromBus(readMessage('outcome.refused.json')), refusal)
  assertBytes('outcome.nothing-new.json', outcomeToBus(nothingNew))
  assert.deepEqual(outcomeFromBus(readMessage('outcome.nothing-new.json')), nothingNew)
})

test.each([
  ['fact.json', stored[0]],
  ['fact.last.json', stored[1]],
])('a fact on the bus contains the bytes that are stored: %s', (name, event) => {
  assert.ok(event)
  assertBytes(name, factToBus(event))
  assert.deepEqual(factFromBus(readMessage(name)), event)
})

test('stored events have the golden metadata and hashes', () => assertBytes('stored-events.json', events))

test('the hash of a state covers its canonical text', () => {
  assertBytes('canonical.json', toCanonicalJson(state))
  const text = golden('canonical.json').trimEnd()
  assert.equal(hashState(1, state), `1:${createHash('sha256').update(text).digest('hex')}`)
  assert.equal(readMeta(stored[1] as StoredEvent).state, hashState(1, state)) // There are two events.
})

test('the chain hash connects both events, and any changed byte breaks it', () => {
  const [first, last] = stored as [StoredEvent, StoredEvent] // There are two events.
  assert.equal(computeExpectedChain(CHAIN_START, first), readMeta(first).chain)
  assert.equal(computeExpectedChain(readMeta(first).chain, last), chain)
  const changes = [
    { data: first.data.replace('twice', 'thrice') },
    { type: 'AdminClosed' },
    { revision: 1 },
    { stream: 'order-2' },
  ]
  for (const change of changes) assert.notEqual(computeExpectedChain(CHAIN_START, { ...first, ...change }), readMeta(first).chain)
})

test('the chain hash is the SHA-256 hash of seven lines', () => {
  const [event] = stored
  assert.ok(event)
  const bare = event.meta.slice(0, event.meta.indexOf(',"chain":'))
  const lines = [CHAIN_START, event.stream, event.revision, event.id, event.type, event.data, bare]
  assert.equal(readMeta(event).chain, createHash('sha256').update(lines.join('\n')).digest('hex'))
})
