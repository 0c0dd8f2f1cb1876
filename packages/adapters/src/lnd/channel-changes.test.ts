import { EventEmitter } from 'node:events'
import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { channelChanges } from './channel-changes.ts'
import type { Connection } from './connection.ts'
import { asFault } from './refusal.ts'

type Call = (request: object, done: (error: object | null, answer?: object) => void) => void

const PEER = `02${'11'.repeat(32)}`
const outpoint = `${'aa'.repeat(32)}:0`
const closingTxid = 'cc'.repeat(32)

/** As lnd tells of a channel that is closed, by its own names (lightning.proto: ChannelCloseSummary). */
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

/** A node that lists no open channel, and whose streams are in the hand of the test. */
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
  const lnd = { default: calls } as unknown as AuthenticatedLnd // the calls that are asked for
  let now = 0
  const clock = {
    now: () => (now += 1000),
    monotonicMs: () => (now += 1000),
    sleep: () => new Promise<void>((resolve) => setImmediate(resolve)),
  }
  const connection: Connection = {
    clock,
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(asFault(error))),
  }
  return { connection, lists, streams, cancelled }
}

const closedIn = (stream: EventEmitter | undefined, closed_channel: object) =>
  stream?.emit('data', { type: 'CLOSED_CHANNEL', closed_channel })

async function listening(connection: Connection, work: (told: readonly ChannelChange[]) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const told: ChannelChange[] = []
  const done = (async () => {
    for await (const change of channelChanges(connection, stop.signal)) told.push(change)
  })()
  try {
    await work(told)
  } finally {
    stop.abort()
    await done
  }
}

test.each([
  ['LOCAL_FORCE_CLOSE', 'force', 'us'],
  ['REMOTE_FORCE_CLOSE', 'force', 'peer'],
] as const)('who closed by force is known from the stream: %s, until lnd lists it', async (type, how, by) => {
  const { connection, lists, streams } = node()
  lists.unresolved = [unresolved]
  await listening(connection, async (told) => {
    await until('the list is told', async () => told.length === 1)
    expect(told[0]).toEqual({
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
    await until('it is told by whom', async () => told.length === 2)
    expect(told[1]).toMatchObject({ shortChannelId: '1x1x0', how, by, closingTxid, height: 120 })
    Object.assign(lists, { unresolved: [], closed: [summary(type)] })
    closedIn(streams[0], summary(type))
  })
})

test('a breach is told, which no list has before its end; and so is every other kind', async () => {
  for (const [type, change, expected] of [
    ['BREACH_CLOSE', {}, { how: 'breach', by: 'peer' }],
    ['COOPERATIVE_CLOSE', {}, { how: 'cooperative', by: null }],
    ['FUNDING_CANCELED', { closing_tx_hash: '00'.repeat(32) }, { how: 'funding-lost', closingTxid: null, height: null }],
    ['ABANDONED', { closing_tx_hash: '00'.repeat(32), chan_id: '0' }, { how: 'abandoned', by: 'us', shortChannelId: null }],
  ] as const) {
    const { connection, streams } = node()
    await listening(connection, async (told) => {
      const stream = await until('it listens', async () => streams[0])
      closedIn(stream, summary(type, change))
      await until('it is told', async () => told.length === 1)
      expect(told[0]).toMatchObject({ outpoint, state: 'closed', ...expected })
    })
  }
})

test('who began a cooperative close is in the list, and not in what `lightning` makes of the stream', async () => {
  const { connection, lists, streams } = node()
  await listening(connection, async (told) => {
    const stream = await until('it listens', async () => streams[0])
    lists.closed = [summary('COOPERATIVE_CLOSE', { close_initiator: 'INITIATOR_REMOTE' })]
    closedIn(stream, lists.closed[0] ?? {})
    await until('it is told', async () => told.length > 0)
    expect(told).toEqual([expect.objectContaining({ how: 'cooperative', by: 'peer', height: 120 })])
  })
})

test.each([
  ['its end', (stream: EventEmitter) => stream.emit('end')],
  ['an error', (stream: EventEmitter) => stream.emit('error', { code: 14, details: 'Connection dropped' })],
  ['a right that is missing', (stream: EventEmitter) => stream.emit('error', { code: 2, details: 'permission denied' })],
  ['a word that nobody understands', (stream: EventEmitter) => closedIn(stream, {})],
])('after %s the stream is begun again, and the lists are read all the same', async (_, breakOff) => {
  const { connection, lists, streams } = node()
  await listening(connection, async (told) => {
    const first = await until('it listens', async () => streams[0])
    breakOff(first)
    lists.closed = [summary('COOPERATIVE_CLOSE')]
    await until('it is told by the list', async () => told.length === 1)
    const second = await until('it listens again', async () => streams[1])
    expect(second.listenerCount('data')).toBe(1)
  })
})

test('the stream ends with its listener, and what comes of that disturbs nobody', async () => {
  const { connection, streams, cancelled } = node()
  await listening(connection, async () => void (await until('it listens', async () => streams[0])))
  expect(cancelled).toContain(streams.at(-1))
  streams.at(-1)?.emit('error', { code: 1, details: 'Cancelled on client' })
})
