import { type HostGuard, hostGuard } from '@penstock/outbound/host-guard.ts'
import { AddressRefused } from '@penstock/ports/lightning.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import type { Connection } from './connection.ts'
import { peers } from './peers.ts'
import { asFault } from './refusal.ts'

const pubkey = '02'.padEnd(66, '1')
const onion = `${'a2'.repeat(28)}.onion`

type Done = (error: object | null, answer?: object) => void
type Connect = { readonly addr: { readonly host: string; readonly pubkey: string } }

/** An lnd that connects to whatever it is told, over names that answer in turn. */
function node(names: Record<string, string[][]> = {}, guard?: null) {
  const [connected, resolved]: [string[], string[]] = [[], []]
  const peer = {
    address: '',
    bytes_recv: '0',
    bytes_sent: '0',
    features: {},
    flap_count: 0,
    inbound: false,
    last_flap_ns: '0',
    ping_time: '0',
    pub_key: pubkey,
    sat_recv: '0',
    sat_sent: '0',
    sync_type: 'ACTIVE_SYNC',
  }
  const lnd = {
    default: {
      listPeers: (_: object, done: Done) => done(null, { peers: connected.length > 0 ? [peer] : [] }),
      connectPeer: ({ addr }: Connect, done: Done) => {
        connected.push(addr.host)
        done(null, {})
      },
    },
  } as unknown as AuthenticatedLnd // the calls that connecting makes
  const connection: Connection = {
    clock: { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise(() => undefined) },
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(asFault(error))),
  }
  const guarding: HostGuard = hostGuard({
    resolve: async (name) => {
      resolved.push(name)
      return names[name]?.shift() ?? []
    },
    hasTor: async () => null,
  })
  return { connected, resolved, peers: peers(connection, guard === null ? null : guarding) }
}

test('lnd gets the address that was checked, and a name that changes behind it leads nowhere', async () => {
  const world = node({ 'node.example.org': [['8.8.8.8'], ['127.0.0.1']] })
  expect(await world.peers.connect(pubkey, 'node.example.org:9735')).toBe(true)
  expect([world.connected, world.resolved]).toEqual([['8.8.8.8:9735'], ['node.example.org']])
})

test.each([
  ['[2a00:1450::1]:9735', '[2a00:1450::1]:9735'],
  [`${onion}:9735`, `${onion}:9735`],
  ['8.8.8.8:1', '8.8.8.8:1'],
])('%s is connected to as %s', async (socket, host) => {
  const world = node()
  expect(await world.peers.connect(pubkey, socket)).toBe(true)
  expect([world.connected, world.resolved]).toEqual([[host], []])
})

test.each([
  '127.0.0.1:9735',
  '10.0.0.1:22',
  '[::ffff:169.254.169.254]:80',
  'localhost:10009',
  'rebound.example.org:9735',
  'no socket',
])('lnd is never told to connect to %s', async (socket) => {
  const world = node({ 'rebound.example.org': [['8.8.8.8', '192.168.1.1']] })
  await expect(world.peers.connect(pubkey, socket)).rejects.toThrow(AddressRefused)
  expect(world.connected).toEqual([])
})

test('a network for tests has nodes at every address', async () => {
  const world = node({}, null)
  expect(await world.peers.connect(pubkey, 'localhost:9735')).toBe(true)
  expect(world.connected).toEqual(['localhost:9735'])
})
