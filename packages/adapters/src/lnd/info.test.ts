import type { AuthenticatedLnd } from 'lightning'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { describe, expect, test } from 'vitest'
import type { LndConnection } from './connection.ts'
import { createTorCheck, createHoldExpiryDeltaReader } from './info.ts'
import { toLndFault } from './rpc-errors.ts'

type Done = (error: object | null, answer?: object) => void
type Answer = (request: object, done: Done) => void

const answersWith =
  (blocks: string): Answer =>
  (_, done) =>
    done(null, { config: { 'invoices.HoldExpiryDelta': blocks } })
const setting =
  (value: string): Answer =>
  (_, done) =>
    done(null, { config: { 'tor.active': value } })
const fails =
  (code: number, details: string): Answer =>
  (_, done) =>
    done({ code, details })

/** A node that answers requests for its settings, with a clock that the test sets. */
function node(first: Answer) {
  const world = { answer: first, now: 0, asked: 0 }
  const getDebugInfo: Answer = (request, done) => {
    world.asked++
    world.answer(request, done)
  }
  const lnd = { default: { getDebugInfo } } as unknown as AuthenticatedLnd // the one call that is made
  const connection: LndConnection = {
    // An immediate answer arrives before a sleep ends.
    clock: {
      now: createJumpingWallClock(() => world.now),
      monotonicMs: () => world.now,
      sleep: () => new Promise((resolve) => setImmediate(resolve)),
    },
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
  }
  return { world, connection, delta: createHoldExpiryDeltaReader(connection) }
}

test('the delta is the setting of the node, which is read again after five minutes or for another version', async () => {
  const { world, delta } = node(answersWith('20'))
  expect([await delta('0.20.1'), await delta('0.20.1'), world.asked]).toEqual([20, 20, 1])
  world.answer = answersWith('30')
  world.now = 5 * 60_000
  expect([await delta('0.20.1'), world.asked]).toEqual([30, 2])
  expect([await delta('0.21.0'), world.asked]).toEqual([30, 3])
})

test.each([
  ['the macaroon does not allow the call', fails(2, 'permission denied')],
  ['the node has no such call', fails(12, 'unknown method GetDebugInfo for service lnrpc.Lightning')],
])('the delta is the default of a known version if %s', async (_, answer) => {
  expect(await node(answer).delta('0.20.1')).toBe(12)
  expect(await node(answer).delta('0.19.3')).toBeNull()
})

test.each([
  ['does not answer', fails(14, 'no connection')],
  ['answers with another error', fails(2, 'waiting to start, RPC services not available')],
  ['never answers', () => undefined],
])('for a node that %s the last known delta stays valid, and an unknown delta is null', async (_, answer) => {
  const { world, delta } = node(answer)
  expect(await delta('0.20.1')).toBeNull()
  world.answer = answersWith('30')
  world.now += 5000
  expect(await delta('0.20.1')).toBe(30)
  world.answer = answer
  world.now += 5 * 60_000
  expect([await delta('0.20.1'), await delta('0.20.1'), world.asked]).toEqual([30, 30, 3])
  expect(await delta('0.20.2')).toBeNull()
  world.answer = answersWith('40')
  world.now += 5000
  expect(await delta('0.20.2')).toBe(40)
})

test('reading the delta throws an error that is no Fault', async () => {
  const { world, delta } = node(answersWith('20'))
  world.answer = () => {
    throw new TypeError('a bug')
  }
  await expect(delta('0.20.1')).rejects.toThrow('a bug')
})

describe('the Tor check', () => {
  const info = (uris: readonly string[]): object => ({
    alias: 'node',
    best_header_timestamp: '1',
    block_hash: '00',
    block_height: 1,
    chains: [{ chain: 'bitcoin', network: 'mainnet' }],
    color: '#000000',
    features: {},
    identity_pubkey: '02'.padEnd(66, '1'),
    num_active_channels: 0,
    num_inactive_channels: 0,
    num_peers: 0,
    num_pending_channels: 0,
    synced_to_chain: true,
    synced_to_graph: true,
    uris,
    version: '0.20.1-beta',
  })
  const torOf = (settings: Answer, uris: readonly string[] = []) => {
    const made = node(settings)
    const lnd = { default: { getDebugInfo: settings, getInfo: (_: object, done: Done) => done(null, info(uris)) } }
    return createTorCheck({
      ...made.connection,
      ask: (work) => work(lnd as unknown as AuthenticatedLnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
    })()
  }
  const denied = fails(2, 'permission denied')
  const uri = `${'02'.padEnd(66, '1')}@${'a2'.repeat(28)}.onion:9735`
  test.each([
    ['the setting true', true, setting('true'), []],
    ['the setting false', false, setting('false'), [uri]],
    ['only an onion address', true, denied, [uri]],
    ['neither setting nor onion address', null, denied, []],
    ['an onion address but no answer', null, fails(2, 'waiting to start, RPC services not available'), [uri]],
  ])('of a node with %s returns %s', async (_, expected, settings, uris) => {
    expect(await torOf(settings, uris)).toBe(expected)
  })
})
