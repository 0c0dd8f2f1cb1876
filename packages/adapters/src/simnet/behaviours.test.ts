import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Scratch, scratchSimnet } from './scratch.ts'

/** How long callers were made to wait; nobody really waits here. */
const slept: number[] = []
const clock = { now: () => Date.now(), monotonicMs: () => Date.now(), sleep: async (ms: number) => void slept.push(ms) }

let scratch: Scratch
beforeEach(() => {
  slept.length = 0
  scratch = scratchSimnet({ clock })
})
afterEach(() => scratch.drop())

const control = () => scratch.simnet().control
const seller = () => scratch.simnet().lightning('seller-ada')
const pubkey = (alias: string): string =>
  control()
    .nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''
const visible = (alias: string, outpoint: string) =>
  control()
    .channels(alias)
    .find((channel) => channel.outpoint === outpoint)

async function order(isPrivate = false): Promise<OpenRequest> {
  await seller().peers.connect(pubkey('buyer'), 'buyer.sim:9735')
  return { peer: pubkey('buyer'), capacitySat: 2_000_000n, isPrivate, feeRateSatPerVbyte: 2 }
}

async function openOne(): Promise<string> {
  const funding = await seller().channels.prepare(await order())
  await seller().channels.publish(funding)
  control().mine(6)
  return funding.outpoint
}

const ownView = async (outpoint: string) => (await seller().channels.list()).find((channel) => channel.outpoint === outpoint)

describe('a seller’s node', () => {
  test('ok: what was ordered', async () => {
    const outpoint = await openOne()
    const channel = { outpoint, capacity_sat: '2000000', private: false }
    expect(visible('buyer', outpoint)).toEqual({ ...channel, peer: pubkey('seller-ada') })
    expect(visible('seller-ada', outpoint)).toEqual({ ...channel, peer: pubkey('buyer') })
    expect(slept).toEqual([])
  })

  test('slow: an opening takes four seconds', async () => {
    control().behave('seller-ada', 'slow')
    await openOne()
    expect(slept).toEqual([4000])
  })

  test('silent: nothing is answered, and the network goes on around it', async () => {
    control().behave('seller-ada', 'silent')
    await expect(seller().info()).rejects.toThrow(Fault)
    await expect(seller().wallet.confirmedSat()).rejects.toThrow(Fault)
    await expect(seller().messages.sign('x')).rejects.toThrow(Fault)
    expect(await scratch.simnet().lightning('market').peers.isConnected(pubkey('seller-ada'))).toBe(true)
    control().behave('seller-ada', 'ok')
    expect((await seller().info()).alias).toBe('seller-ada')
  })

  test('never-open: attests its funds, and every opening fails', async () => {
    control().behave('seller-ada', 'never-open')
    expect(await seller().wallet.confirmedSat()).toBe(2_000_000_000n)
    await expect(seller().channels.prepare(await order())).rejects.toSatisfy(
      (error) => error instanceof OpenRefused && error.reason === 'node-failed',
    )
  })

  test('wrong-size: half the value, and it says that it is all there', async () => {
    control().behave('seller-ada', 'wrong-size')
    const outpoint = await openOne()
    expect(await ownView(outpoint)).toMatchObject({ capacitySat: 2_000_000n, localSat: 2_000_000n, peer: pubkey('buyer') })
    expect((await scratch.simnet().chain().output(outpoint, 0))?.valueSat).toBe(1_000_000n)
    expect(visible('buyer', outpoint)).toMatchObject({ capacity_sat: '1000000' })
    expect(await scratch.simnet().lightning('market').graph.channel(outpoint)).toMatchObject({ capacitySat: 1_000_000n })
  })

  test('wrong-peer: to another node, and it says that it is the right one', async () => {
    control().behave('seller-ada', 'wrong-peer')
    const outpoint = await openOne()
    const own = await ownView(outpoint)
    expect(own).toMatchObject({ peer: pubkey('buyer'), capacitySat: 2_000_000n, state: 'active' })
    expect(visible('buyer', outpoint)).toBeUndefined()
    expect(visible('spare', outpoint)).toMatchObject({ peer: pubkey('seller-ada') })
    const market = scratch.simnet().lightning('market')
    expect((await market.graph.channel(outpoint))?.nodes).toEqual([pubkey('seller-ada'), pubkey('spare')])
    expect(
      await market.graph.probe({
        via: pubkey('seller-ada'),
        shortChannelId: own?.shortChannelId ?? '',
        destination: pubkey('buyer'),
        amountMsat: 1000n,
      }),
    ).toEqual({ reached: false, failedAt: 'seller', reason: 'InvalidOnionHmac' })
  })

  test('vanish: accepted, and never seen by anybody, also when it is better behaved later', async () => {
    control().behave('seller-ada', 'vanish')
    const funding = await seller().channels.prepare(await order())
    await seller().channels.publish(funding)
    control().behave('seller-ada', 'ok')
    await seller().channels.publish(funding)
    control().mine(6)
    expect(await scratch.simnet().chain().output(funding.outpoint, 0)).toBeUndefined()
    expect(await ownView(funding.outpoint)).toMatchObject({ state: 'pending' })
    expect(visible('buyer', funding.outpoint)).toBeUndefined()
    expect(await seller().channels.abandon(funding)).toBe('abandoned')
    expect(await seller().wallet.confirmedSat()).toBe(2_000_000_000n)
  })

  test('stays as it is when the network is started again', async () => {
    control().behave('seller-ada', 'never-open')
    const before = control().nodes()
    await scratch.reopen()
    expect(control().nodes()).toEqual(before)
    await expect(seller().channels.prepare(await order())).rejects.toThrow(OpenRefused)
  })
})

test('offline: no answer, no channel, no way through', async () => {
  const outpoint = await openOne()
  control().setOnline('seller-ada', false)
  await expect(seller().info()).rejects.toThrow(Fault)
  const market = scratch.simnet().lightning('market')
  expect(await market.peers.isConnected(pubkey('seller-ada'))).toBe(false)
  expect(await market.peers.connect(pubkey('seller-ada'), 'seller-ada.sim:9735')).toBe(false)
  expect(
    (await scratch.simnet().lightning('buyer').channels.list()).find((channel) => channel.outpoint === outpoint)?.state,
  ).toBe('inactive')
  const { invoice } = control().invoice('seller-ada', 1000n, 3600)
  expect(await market.payments.pay(invoice, { maxFeeMsat: 1000n, timeoutMs: 1 })).toEqual({ state: 'failed', reason: 'no-route' })
  control().setOnline('seller-ada', true)
  expect(await market.payments.pay(invoice, { maxFeeMsat: 1000n, timeoutMs: 1 })).toMatchObject({ state: 'succeeded' })
})

test('who does not exist is named with those who do', () => {
  expect(() => control().behave('nobody', 'ok')).toThrow(/no node called nobody; there are market, buyer/)
  expect(() => scratch.simnet().lightning('nobody')).toThrow(/no node called nobody/)
})
