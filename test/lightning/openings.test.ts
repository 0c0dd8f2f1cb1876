import { setTimeout as sleep } from 'node:timers/promises'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { type Lightning, OpenRefused, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { connect, fund } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getLockedUtxos, getWalletInfo, subscribeToOpenRequests } from 'lightning'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connected, network, noLightning } from './servers.ts'

const COIN_SAT = 3_000_000
/** A coin is enough for one, and what is left of all of them for none. */
const CAPACITY_SAT = 2_990_000n
const COINS = 8
/** Takes all of a coin: what is left beside its fee is too little for an output. */
const WHOLE_COIN_SAT = 2_999_500n

/** Several openings of one node at the same time, each of which needs a coin of its own. */
describe.skipIf(noLightning)('openings side by side', () => {
  const servers = network({ nodes: ['seller', 'buyer', 'other'] })
  let seller: Lightning
  beforeAll(async () => {
    seller = lndLightning(connected(servers(), 'seller'))
    for (const alias of ['buyer', 'other']) await connect(node('seller'), node(alias))
  })
  beforeEach(() => fund(servers(), node('seller'), COIN_SAT, COINS))

  const node = (alias: string) => servers().node(alias)
  const prepare = (alias: string, capacitySat = CAPACITY_SAT): Promise<UnpublishedFunding> =>
    seller.channels.prepare({ peer: node(alias).pubkey, capacitySat, isPrivate: true, feeRateSatPerVbyte: 2 })
  const locked = async (): Promise<number> => (await getLockedUtxos({ lnd: node('seller').lnd })).utxos.length

  /** @returns those that were prepared, and why the others were not */
  async function outcomes(wanted: readonly Promise<UnpublishedFunding>[]) {
    const all = await Promise.allSettled(wanted)
    const fundings = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const reasons = all.flatMap((one) => (one.status === 'rejected' ? [reasonOf(one.reason)] : []))
    return { fundings, reasons }
  }
  const reasonOf = (error: unknown): string => (error instanceof OpenRefused ? error.reason : String(error))

  /** Each of them stands in a block afterwards, which two that spend the same coin could not. */
  async function publish(fundings: readonly UnpublishedFunding[]): Promise<void> {
    expect(await locked()).toBe(fundings.length)
    for (const funding of fundings) await seller.channels.publish(funding)
    await servers().mine(6)
    await until('all channels are active', async () => {
      const active = (await seller.channels.list()).filter(({ state }) => state === 'active').map(({ outpoint }) => outpoint)
      return fundings.every(({ outpoint }) => active.includes(outpoint))
    })
    expect(await locked()).toBe(0)
  }

  it('eight at once: each has a coin of its own', async () => {
    const { fundings, reasons } = await outcomes(Array.from({ length: COINS }, () => prepare('buyer')))
    expect([fundings.length, reasons]).toEqual([COINS, []])
    await publish(fundings)
  })

  it('sixteen at once, and coins for eight: the others are refused, and the node goes on', async () => {
    const wanted = Array.from({ length: 2 * COINS }, (_, index) => prepare(index % 2 === 0 ? 'buyer' : 'other'))
    const { fundings, reasons } = await outcomes(wanted)
    expect([fundings.length, reasons]).toEqual([COINS, Array.from({ length: COINS }, () => 'insufficient-funds')])
    await publish(fundings)
  })

  it('a peer that takes its time keeps nobody else waiting', async () => {
    const asked: (() => void)[] = []
    const requests = subscribeToOpenRequests({ lnd: node('other').lnd })
    requests.on('channel_request', ({ accept }: { accept: () => void }) => asked.push(accept))
    // The network ends before the stream.
    requests.on('error', () => undefined)
    // It has heard of them by the time it answers this, on the same connection.
    await getWalletInfo({ lnd: node('other').lnd })
    const slow = prepare('other')
    const accept = await until('the other is asked', async () => asked[0])
    const { fundings, reasons } = await outcomes([prepare('buyer'), prepare('buyer')])
    expect([fundings.length, reasons]).toEqual([2, []])
    accept()
    await publish([...fundings, await slow])
    requests.removeAllListeners('channel_request')
  })

  it('a node that is killed at any moment of an opening keeps no coin back from the next one', async () => {
    for (const [round, afterMs] of [0, 60, 200].entries()) {
      const alias = round % 2 === 0 ? 'buyer' : 'other'
      const cut = outcomes([prepare(alias)])
      await sleep(afterMs)
      await node('seller').kill()
      await node('seller').start()
      await cut
      const { pubkey, socket } = node(alias)
      // The client that saw its lnd die takes a moment to find it again.
      await until('the peer is connected', () => seller.peers.connect(pubkey, socket).catch(() => false))
      // Whether it was cut off before there was a channel or after, nobody has its funding.
      const left = (await seller.channels.list()).filter(({ state }) => state === 'pending')
      const given = await Promise.all(left.map(({ outpoint }) => seller.channels.abandon({ outpoint })))
      expect(given).toEqual(left.map(() => 'abandoned'))
      const next = await until('the node opens again', async () => {
        const { fundings } = await outcomes([prepare(alias)])
        return fundings[0]
      })
      expect(await locked()).toBe(1)
      expect(await seller.channels.abandon(next)).toBe('abandoned')
      expect(await locked()).toBe(0)
    }
  })

  it('a funding without change cannot be made more urgent: the node says so, and the funding stays as it is', async () => {
    const funding = await prepare('buyer', WHOLE_COIN_SAT)
    const { outputs } = readTransaction(funding.handle)
    expect(outputs.map(({ valueSat }) => valueSat)).toEqual([WHOLE_COIN_SAT])
    await seller.channels.publish(funding)
    expect(await seller.channels.bumpFee(funding.outpoint, 20, 50).catch(reasonOf)).toBe('insufficient-funds')
    await servers().mine()
    // In a block it needs nothing.
    await seller.channels.bumpFee(funding.outpoint, 20, 50)
  })
})
