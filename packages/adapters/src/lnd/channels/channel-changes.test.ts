import { EventEmitter } from 'node:events'
import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { streamChannelChanges } from './channel-changes.ts'
import type { LndConnection } from '../connection.ts'
import { toLndFault } from '../rpc-errors.ts'

type Call = (request: object, done: (error: object | null, answer?: object) => void) => void

const PEER = `02${'11'.repeat(32)}`
const outpoint = `${'aa'.repeat(32)}:0`
const closingTxid = 'cc'.repeat(32)

/** A closed channel in the format of lnd (lightning.proto: ChannelCloseSummary). */
const summary = (close_type: string, change: object = {}) => ({
  alias_scids: [],
  capacity: '1000000',
  chan_id: '1099511693312',
  channel_point: outpoint,
  close_height: 120,
  close_initiator: 'INITIATOR_UNKNOWN',
  close_type,
  closing_tx_hash: closingTxid,
  open_initiator: 'INITIATOR_LOCAL',
  remote_pubkey: PEER,
  resolutions: [],
  settled_balance: '0',
  time_locked_balance: '0',
  ...change,
})
const unresolved = {
  blocks_til_maturity: 0,
  channel: {
    capacity: '1000000',
    channel_point: outpoint,
    commitment_type: 'ANCHORS',
    initiator: 'INITIATOR_LOCAL',
    local_balance: '0',
    local_chan_reserve_sat: '0',
    private: false,
    remote_balance: '0',
    remote_chan_reserve_sat: '0',
    remote_node_pub: PEER,
  },
  closing_txid: closingTxid,
  limbo_balance: '0',
  maturity_height: 0,
  pending_htlcs: [],
  recovered_balance: '0',
}

/** A node that lists no open channel, and whose streams the test controls. */
function node() {
  const lists = { unresolved: [] as object[], closed: [] as object[] }
  const streams: EventEmitter[] = []
  const cancelled: EventEmitter[] = []
  const calls = {
    listChannels: ((_, done) => done(null, { channels: [] })) as Call,
    pendingChannels: ((_, done) =>
      done(null, {
        pending_force_closing_channels: lists.unresolved,
        pending_open_channels: [],
        waiting_close_channels: [],
      })) as Call,
    closedChannels: ((_, done) => done(null, { channels: lists.closed })) as Call,
    subscribeChannelEvents() {
      const stream = Object.assign(new EventEmitter(), { cancel: () => void cancelled.push(stream) })
      streams.push(stream)
      return stream
    },
  }
  const lnd = { default: calls } as unknown as AuthenticatedLnd // the calls that are made
  let now = 0
  const clock = {
    now: () => (now += 1000),
    monotonicMs: () => (now += 1000),
    sleep: () => new Promise<void>((resolve) => setImmediate(resolve)),
  }
  const connection: LndConnection = {
    clock,
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
  }
  return { connection, lists, streams, cancelled }
}

const closedIn = (stream: EventEmitter | undefined, closed_channel: object) =>
  stream?.emit('data', { type: 'CLOSED_CHANNEL', closed_channel })

async function listen(connection: LndConnection, work: (changes: readonly ChannelChange[]) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const changes: ChannelChange[] = []
  const done = (async () => {
    for await (const change of streamChannelChanges(connection, stop.signal)) changes.push(change)
  })()
  try {
    await work(changes)
  } finally {
    stop.abort()
    await done
  }
}

test.each([
  ['LOCAL_FORCE_CLOSE', 'force', 'us'],
  ['REMOTE_FORCE_CLOSE', 'force', 'peer'],
] as const)('the stream reports the closing side of a %s before lnd lists the channel as closed', async (type, how, by) => {
  const { connection, lists, streams } = node()
  lists.unresolved = [unresolved]
  await listen(connection, async (changes) => {
    await waitForValue('the change from the list', async () => changes.length === 1)
    expect(changes[0]).toEqual({
      state: 'closed',
      outpoint,
      shortChannelId: null,
      peer: PEER,
      how: 'force',
      by: null,
      closingTxid,
      height: null,
    })
    closedIn(streams[0], summary(type))
    await waitForValue('the change from the stream', async () => changes.length === 2)
    expect(changes[1]).toMatchObject({ shortChannelId: '1x1x0', how, by, closingTxid, height: 120 })
    Object.assign(lists, { unresolved: [], closed: [summary(type)] })
    closedIn(streams[0], summary(type))
  })
})

test('the stream reports every kind of close before lnd lists the channel as closed', async () => {
  for (const [type, change, expected] of [
    ['BREACH_CLOSE', {}, { how: 'breach', by: 'peer' }],
    ['COOPERATIVE_CLOSE', {}, { how: 'cooperative', by: null }],
    ['FUNDING_CANCELED', { closing_tx_hash: '00'.repeat(32) }, { how: 'funding-lost', closingTxid: null, height: null }],
    ['ABANDONED', { closing_tx_hash: '00'.repeat(32), chan_id: '0' }, { how: 'abandoned', by: 'us', shortChannelId: null }],
  ] as const) {
    const { connection, streams } = node()
    await listen(connection, async (changes) => {
      const stream = await waitForValue('an open stream', async () => streams[0])
      closedIn(stream, summary(type, change))
      await waitForValue('a change', async () => changes.length === 1)
      expect(changes[0]).toMatchObject({ outpoint, state: 'closed', ...expected })
    })
  }
})

test('the initiator of a cooperative close is read from the list, because `lightning` drops it from the stream', async () => {
  const { connection, lists, streams } = node()
  await listen(connection, async (changes) => {
    const stream = await waitForValue('an open stream', async () => streams[0])
    lists.closed = [summary('COOPERATIVE_CLOSE', { close_initiator: 'INITIATOR_REMOTE' })]
    closedIn(stream, lists.closed[0] ?? {})
    await waitForValue('a change', async () => changes.length > 0)
    expect(changes).toEqual([expect.objectContaining({ how: 'cooperative', by: 'peer', height: 120 })])
  })
})

test.each([
  ['its end', (stream: EventEmitter) => stream.emit('end')],
  ['an error', (stream: EventEmitter) => stream.emit('error', { code: 14, details: 'Connection dropped' })],
  ['a missing permission', (stream: EventEmitter) => stream.emit('error', { code: 2, details: 'permission denied' })],
  ['an invalid message', (stream: EventEmitter) => closedIn(stream, {})],
])('after %s the stream is opened again, and the lists are still read', async (_, interrupt) => {
  const { connection, lists, streams } = node()
  await listen(connection, async (changes) => {
    const first = await waitForValue('an open stream', async () => streams[0])
    interrupt(first)
    lists.closed = [summary('COOPERATIVE_CLOSE')]
    await waitForValue('the change from the list', async () => changes.length === 1)
    const second = await waitForValue('another open stream', async () => streams[1])
    expect(second.listenerCount('data')).toBe(1)
  })
})

test('the stream of lnd is cancelled when its listener stops, and a late error is ignored', async () => {
  const { connection, streams, cancelled } = node()
  await listen(connection, async () => void (await waitForValue('an open stream', async () => streams[0])))
  expect(cancelled).toContain(streams.at(-1))
  streams.at(-1)?.emit('error', { code: 1, details: 'Cancelled on client' })
})
