import { until } from '@penstock/ports/waiting.contract.ts'
import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scratch, scratchSimnet } from './scratch.ts'

/** Blocks that the other end of an opening waits for its funding (lnd). */
const WAIT_BLOCKS = 2016

let scratch: Scratch
beforeEach(() => {
  scratch = scratchSimnet()
})
afterEach(() => scratch.drop())

const control = () => scratch.simnet().control
const buyer = () => scratch.simnet().lightning('buyer')
const seller = () => scratch.simnet().lightning('seller-ada')

async function givenUp(blocksBefore = 0): Promise<string> {
  const { pubkey } = await buyer().info()
  await seller().peers.connect(pubkey, 'buyer.sim:9735')
  const ask = { peer: pubkey, capacitySat: 1_000_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
  const { outpoint } = await seller().channels.prepare(ask)
  if (blocksBefore > 0) control().mine(blocksBefore)
  expect(await seller().channels.abandon({ outpoint })).toBe('abandoned')
  return outpoint
}

const atBuyer = async (outpoint: string): Promise<{ listed: string | undefined; closed: string | undefined }> => ({
  listed: (await buyer().channels.list()).find((channel) => channel.outpoint === outpoint)?.state,
  closed: (await buyer().channels.closed()).find((channel) => channel.outpoint === outpoint)?.how,
})
const PENDING = { listed: 'pending', closed: undefined }
const FORGOTTEN = { listed: undefined, closed: 'funding-lost' }

test('an opening that was given up is pending at the other end for 2,016 blocks from its preparation', async () => {
  const stop = new AbortController()
  const told: ChannelChange[] = []
  const listening = (async () => {
    for await (const change of buyer().channels.changes(stop.signal)) told.push(change)
  })()
  const outpoint = await givenUp(16)
  const last = () => told.findLast((change) => change.outpoint === outpoint)
  await until('it is told as pending', async () => last()?.state === 'pending')
  const before = await seller().wallet.confirmedSat()
  control().mine(WAIT_BLOCKS - 16 - 1)
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  await scratch.reopen()
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  expect(await seller().wallet.confirmedSat()).toBe(before)
  stop.abort()
  await listening
  expect(last()?.state).toBe('pending')
})

test('then it is told as a funding that never came, and no re-organisation brings it back', async () => {
  const outpoint = await givenUp()
  const stop = new AbortController()
  const told: ChannelChange[] = []
  const listening = (async () => {
    for await (const change of buyer().channels.changes(stop.signal)) if (change.outpoint === outpoint) told.push(change)
  })()
  await until('it is told as pending', async () => told.length === 1)
  control().mine(WAIT_BLOCKS - 1)
  expect(await atBuyer(outpoint)).toEqual(PENDING)
  control().mine(1)
  expect(await atBuyer(outpoint)).toEqual(FORGOTTEN)
  await until('it is told as closed', async () => told.length === 2)
  expect(told[1]).toMatchObject({ state: 'closed', how: 'funding-lost', by: 'us', closingTxid: null, height: null })
  control().reorg(6)
  expect(await atBuyer(outpoint)).toEqual(FORGOTTEN)
  stop.abort()
  await listening
})

test('one that is given up after so many blocks is forgotten by then', async () => {
  expect(await atBuyer(await givenUp(WAIT_BLOCKS))).toEqual(FORGOTTEN)
})
