import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TemporaryNetwork, openTemporaryNetwork } from './temporary-network.ts'

/** Blocks for which the peer of an opening waits for the funding, as in lnd. */
const WAIT_BLOCKS = 2016

let network: TemporaryNetwork
beforeEach(() => {
  network = openTemporaryNetwork()
})
afterEach(() => network.drop())

const control = () => network.simnet().control
const buyer = () => network.simnet().lightning('buyer')
const seller = () => network.simnet().lightning('seller-ada')

async function abandonOpening(blocksBefore = 0): Promise<string> {
  const { pubkey } = await buyer().info()
  await seller().peers.connect(pubkey, 'buyer.sim:9735')
  const request = { peer: pubkey, capacitySat: 1_000_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
  const { outpoint } = await seller().channels.prepare(request)
  if (blocksBefore > 0) control().mine(blocksBefore)
  expect(await seller().channels.abandon({ outpoint })).toBe('abandoned')
  return outpoint
}

const atBuyer = async (outpoint: string): Promise<{ listed: string | undefined; closed: string | undefined }> => ({
  listed: (await buyer().channels.list()).find((channel) => channel.outpoint === outpoint)?.state,
  closed: (await buyer().channels.closed()).find((channel) => channel.outpoint === outpoint)?.how,
})
const PENDING = { listed: 'pending', closed: undefined }
const LOST = { listed: undefined, closed: 'funding-lost' }

test('an abandoned opening is pending at the peer for 2,016 blocks from its preparation', async () => {
  const stop = new AbortController()
  const changes: ChannelChange[] = []
  const listening = (async () => {
    for await (const change of buyer().channels.changes(stop.signal)) changes.push(change)
  })()
  const outpoint = await abandonOpening(16)
  const last = () => changes.findLast((change) => change.outpoint === outpoint)
  await waitForValue('a pending channel', async () => last()?.state === 'pending')
  const before = await seller().wallet.confirmedSat()
  control().mine(WAIT_BLOCKS - 16 - 1)
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  await network.reopen()
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  expect(await seller().wallet.confirmedSat()).toBe(before)
  stop.abort()
  await listening
  expect(last()?.state).toBe('pending')
})

test('the peer reports a lost funding after 2,016 blocks, and a re-organisation does not undo that', async () => {
  const outpoint = await abandonOpening()
  const stop = new AbortController()
  const changes: ChannelChange[] = []
  const listening = (async () => {
    for await (const change of buyer().channels.changes(stop.signal)) if (change.outpoint === outpoint) changes.push(change)
  })()
  await waitForValue('a pending channel', async () => changes.length === 1)
  control().mine(WAIT_BLOCKS - 1)
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  control().mine(1)
  expect(await atBuyer(outpoint)).toEqual(LOST)
  await waitForValue('a closed channel', async () => changes.length === 2)
  expect(changes[1]).toMatchObject({ state: 'closed', how: 'funding-lost', by: 'us', closingTxid: null, height: null })
  control().reorg(6)
  expect(await atBuyer(outpoint)).toEqual(LOST)
  stop.abort()
  await listening
})

test('an opening that is abandoned after 2,016 blocks is already lost at the peer', async () => {
  expect(await atBuyer(await abandonOpening(WAIT_BLOCKS))).toEqual(LOST)
})
