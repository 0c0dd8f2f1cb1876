import type { AuthenticatedLnd } from 'lightning'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { describe, expect, test } from 'vitest'
import type { Connection } from './connection.ts'
import { hasTorOf, holdExpiryDeltaOf } from './info.ts'
import { asFault } from './refusal.ts'

type Done = (error: object | null, answer?: object) => void
type Answer = (request: object, done: Done) => void

const tells =
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

/** A node whose settings are asked for, and a clock that is set by hand. */
function node(first: Answer) {
  const world = { answer: first, now: 0, asked: 0 }
  const getDebugInfo: Answer = (request, done) => {
    world.asked++
    world.answer(request, done)
  }
  const lnd = { default: { getDebugInfo } } as unknown as AuthenticatedLnd // the one call that is made
  const connection: Connection = {
    // What answers at once is in time.
    clock: {
      now: jumpingWall(() => world.now),
      monotonicMs: () => world.now,
      sleep: () => new Promise((resolve) => setImmediate(resolve)),
    },
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(asFault(error))),
  }
  return { world, connection, delta: holdExpiryDeltaOf(connection) }
}

test('the setting of the node counts, and is asked for again after minutes or with another version', async () => {
  const { world, delta } = node(tells('20'))
  expect([await delta('0.20.1'), await delta('0.20.1'), world.asked]).toEqual([20, 20, 1])
  world.answer = tells('30')
  world.now = 5 * 60_000
  expect([await delta('0.20.1'), world.asked]).toEqual([30, 2])
  expect([await delta('0.21.0'), world.asked]).toEqual([30, 3])
})

test.each([
  ['the macaroon does not allow the call', fails(2, 'permission denied')],
  ['the node has no such call', fails(12, 'unknown method GetDebugInfo for service lnrpc.Lightning')],
])('the standard of a version that we know is taken where %s', async (_, answer) => {
  expect(await node(answer).delta('0.20.1')).toBe(12)
  expect(await node(answer).delta('0.19.3')).toBeNull()
})

test.each([
  ['does not answer', fails(14, 'no connection')],
  ['answers with something else', fails(2, 'waiting to start, RPC services not available')],
  ['never answers', () => undefined],
])(
  'a node that %s is not taken for one that keeps to the standard: what is known counts on, else nothing is known',
  async (_, answer) => {
    const { world, delta } = node(answer)
    expect(await delta('0.20.1')).toBeNull()
    world.answer = tells('30')
    world.now += 5000
    expect(await delta('0.20.1')).toBe(30)
    world.answer = answer
    world.now += 5 * 60_000
    expect([await delta('0.20.1'), await delta('0.20.1'), world.asked]).toEqual([30, 30, 3])
    expect(await delta('0.20.2')).toBeNull()
    world.answer = tells('40')
    world.now += 5000
    expect(await delta('0.20.2')).toBe(40)
  },
)

test('what is wrong with us is no answer', async () => {
  const { world, delta } = node(tells('20'))
  world.answer = () => {
    throw new TypeError('a bug')
  }
  await expect(delta('0.20.1')).rejects.toThrow('a bug')
})

describe('Tor', () => {
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
    return hasTorOf({
      ...made.connection,
      ask: (work) => work(lnd as unknown as AuthenticatedLnd).catch((error: unknown) => Promise.reject(asFault(error))),
    })()
  }
  const denied = fails(2, 'permission denied')
  const uri = `${'02'.padEnd(66, '1')}@${'a2'.repeat(28)}.onion:9735`
  test.each([
    ['the setting says so', true, setting('true'), []],
    ['the setting says no', false, setting('false'), [uri]],
    ['only its address tells', true, denied, [uri]],
    ['nothing tells', null, denied, []],
    ['the node has no answer', null, fails(2, 'waiting to start, RPC services not available'), [uri]],
  ])('where %s: %s', async (_, expected, settings, uris) => {
    expect(await torOf(settings, uris)).toBe(expected)
  })
})
