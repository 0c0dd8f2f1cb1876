import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TemporaryNetwork, openTemporaryNetwork } from './temporary-network.ts'

const NOW = 1_790_000_000_000
/** The sleeps of callers, in ms. The clock records them and returns at once. */
const slept: number[] = []
const clock = { now: () => NOW, monotonicMs: () => NOW, sleep: async (ms: number) => void slept.push(ms) }

let network: TemporaryNetwork
beforeEach(() => {
  slept.length = 0
  network = openTemporaryNetwork({ clock })
})
afterEach(() => network.drop())

const control = () => network.simnet().control
const seller = () => network.simnet().lightning('seller-ada')
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
  test('with the behaviour ok opens the ordered channel', async () => {
    const outpoint = await openOne()
    const channel = { outpoint, capacity_sat: '2000000', private: false }
    expect(visible('buyer', outpoint)).toEqual({ ...channel, peer: pubkey('seller-ada') })
    expect(visible('seller-ada', outpoint)).toEqual({ ...channel, peer: pubkey('buyer') })
    expect(slept).toEqual([])
  })

  test('with the behaviour slow opens a channel after four seconds', async () => {
    control().behave('seller-ada', 'slow')
    await openOne()
    expect(slept).toEqual([4000])
  })

  test('with the behaviour silent answers no call, while other nodes are still connected to it', async () => {
    control().behave('seller-ada', 'silent')
    await expect(seller().info()).rejects.toThrow(Fault)
    await expect(seller().wallet.confirmedSat()).rejects.toThrow(Fault)
    await expect(seller().messages.sign('x')).rejects.toThrow(Fault)
    expect(await network.simnet().lightning('market').peers.isConnected(pubkey('seller-ada'))).toBe(true)
    control().behave('seller-ada', 'ok')
    expect((await seller().info()).alias).toBe('seller-ada')
  })

  test('with the behaviour never-open has funds and fails every opening', async () => {
    control().behave('seller-ada', 'never-open')
    expect(await seller().wallet.confirmedSat()).toBe(2_000_000_000n)
    await expect(seller().channels.prepare(await order())).rejects.toSatisfy(
      (error) => error instanceof OpenRefused && error.reason === 'node-failed',
    )
  })

  test('with the behaviour wrong-size opens a channel of half the size and reports the full size', async () => {
    control().behave('seller-ada', 'wrong-size')
    const outpoint = await openOne()
    expect(await ownView(outpoint)).toMatchObject({ capacitySat: 2_000_000n, localSat: 2_000_000n, peer: pubkey('buyer') })
    expect((await network.simnet().chain().output(outpoint, 0))?.valueSat).toBe(1_000_000n)
    expect(visible('buyer', outpoint)).toMatchObject({ capacity_sat: '1000000' })
    expect(await network.simnet().lightning('market').graph.channel(outpoint)).toMatchObject({ capacitySat: 1_000_000n })
  })

  test('with the behaviour wrong-peer opens the channel to another node and reports the ordered peer', async () => {
    control().behave('seller-ada', 'wrong-peer')
    const outpoint = await openOne()
    const own = await ownView(outpoint)
    expect(own).toMatchObject({ peer: pubkey('buyer'), capacitySat: 2_000_000n, state: 'active' })
    expect(visible('buyer', outpoint)).toBeUndefined()
    expect(visible('spare', outpoint)).toMatchObject({ peer: pubkey('seller-ada') })
    const market = network.simnet().lightning('market')
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

  test('with the behaviour vanish accepts a funding that it never broadcasts, even after the behaviour changes', async () => {
    control().behave('seller-ada', 'vanish')
    const funding = await seller().channels.prepare(await order())
    await seller().channels.publish(funding)
    control().behave('seller-ada', 'ok')
    await seller().channels.publish(funding)
    control().mine(6)
    expect(await network.simnet().chain().output(funding.outpoint, 0)).toBeUndefined()
    expect(await ownView(funding.outpoint)).toMatchObject({ state: 'pending' })
    expect(visible('buyer', funding.outpoint)).toBeUndefined()
    expect(await seller().channels.abandon(funding)).toBe('abandoned')
    expect(await seller().wallet.confirmedSat()).toBe(2_000_000_000n)
  })

  test('keeps its behaviour when the network restarts', async () => {
    control().behave('seller-ada', 'never-open')
    const before = control().nodes()
    await network.reopen()
    expect(control().nodes()).toEqual(before)
    await expect(seller().channels.prepare(await order())).rejects.toThrow(OpenRefused)
  })
})

test('an offline node answers no call, has no active channel and receives no payment', async () => {
  const outpoint = await openOne()
  control().setOnline('seller-ada', false)
  await expect(seller().info()).rejects.toThrow(Fault)
  const market = network.simnet().lightning('market')
  expect(await market.peers.isConnected(pubkey('seller-ada'))).toBe(false)
  expect(await market.peers.connect(pubkey('seller-ada'), 'seller-ada.sim:9735')).toBe(false)
  expect(
    (await network.simnet().lightning('buyer').channels.list()).find((channel) => channel.outpoint === outpoint)?.state,
  ).toBe('inactive')
  const { invoice } = control().invoice('seller-ada', 1000n, 3600)
  expect(await market.payments.pay(invoice, { maxFeeMsat: 1000n, timeoutMs: 1 })).toEqual({ state: 'failed', reason: 'no-route' })
  control().setOnline('seller-ada', true)
  expect(await market.payments.pay(invoice, { maxFeeMsat: 1000n, timeoutMs: 1 })).toMatchObject({ state: 'succeeded' })
})

test('an unknown alias throws an error that lists the existing nodes', () => {
  expect(() => control().behave('nobody', 'ok')).toThrow(/no node called nobody; there are market, buyer/)
  expect(() => network.simnet().lightning('nobody')).toThrow(/no node called nobody/)
})
