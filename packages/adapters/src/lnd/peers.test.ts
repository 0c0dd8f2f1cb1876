import { type HostGuard, createPublicHostGuard } from '@penstock/outbound/host-guard.ts'
import { AddressRefused } from '@penstock/ports/lightning.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import type { LndConnection } from './connection.ts'
import { createPeersPort } from './peers.ts'
import { toLndFault } from './rpc-errors.ts'

const pubkey = '02'.padEnd(66, '1')
const onion = `${'a2'.repeat(28)}.onion`

type Done = (error: object | null, answer?: object) => void
type Connect = { readonly addr: { readonly host: string; readonly pubkey: string } }

/** An lnd that connects to any address. Each lookup of a name returns the next of its address lists. */
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
  const connection: LndConnection = {
    clock: { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise(() => undefined) },
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
  }
  const publicHostGuard: HostGuard = createPublicHostGuard({
    resolve: async (name) => {
      resolved.push(name)
      return names[name]?.shift() ?? []
    },
    hasTor: async () => null,
  })
  return { connected, resolved, peers: createPeersPort(connection, guard === null ? null : publicHostGuard) }
}

test('lnd gets the checked address, so that a later change of the name has no effect', async () => {
  const world = node({ 'node.example.org': [['8.8.8.8'], ['127.0.0.1']] })
  expect(await world.peers.connect(pubkey, 'node.example.org:9735')).toBe(true)
  expect([world.connected, world.resolved]).toEqual([['8.8.8.8:9735'], ['node.example.org']])
})

test.each([
  ['[2a00:1450::1]:9735', '[2a00:1450::1]:9735'],
  [`${onion}:9735`, `${onion}:9735`],
  ['8.8.8.8:1', '8.8.8.8:1'],
])('the socket %s is passed to lnd as %s', async (socket, host) => {
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
])('a connection to %s is refused before it reaches lnd', async (socket) => {
  const world = node({ 'rebound.example.org': [['8.8.8.8', '192.168.1.1']] })
  await expect(world.peers.connect(pubkey, socket)).rejects.toThrow(AddressRefused)
  expect(world.connected).toEqual([])
})

test('lnd may connect to any address if there is no guard', async () => {
  const world = node({}, null)
  expect(await world.peers.connect(pubkey, 'localhost:9735')).toBe(true)
  expect(world.connected).toEqual(['localhost:9735'])
})
