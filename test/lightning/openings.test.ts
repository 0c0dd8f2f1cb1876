import { setTimeout as sleep } from 'node:timers/promises'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { type Lightning, OpenRefused, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { connectPeers, fundNode } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { getLockedUtxos, getWalletInfo, subscribeToOpenRequests } from 'lightning'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connectToNode, useLightningServers, isLightningMissing } from './servers.ts'

const COIN_SAT = 3_000_000
/** One coin is enough for one channel. The change of all coins together is not enough for another channel. */
const CAPACITY_SAT = 2_990_000n
const COINS = 8
/** Uses a whole coin, because the remainder after the fee is too small for an output. */
const WHOLE_COIN_SAT = 2_999_500n

/** Concurrent openings of one node, each of which needs a separate coin. */
describe.skipIf(isLightningMissing)('concurrent openings', () => {
  const servers = useLightningServers({ nodes: ['seller', 'buyer', 'other'] })
  let seller: Lightning
  beforeAll(async () => {
    seller = lndLightning(connectToNode(servers(), 'seller'))
    for (const alias of ['buyer', 'other']) await connectPeers(node('seller'), node(alias))
  })
  beforeEach(() => fundNode(servers(), node('seller'), COIN_SAT, COINS))

  const node = (alias: string) => servers().node(alias)
  const prepare = (alias: string, capacitySat = CAPACITY_SAT): Promise<UnpublishedFunding> =>
    seller.channels.prepare({ peer: node(alias).pubkey, capacitySat, isPrivate: true, feeRateSatPerVbyte: 2 })
  const countLocked = async (): Promise<number> => (await getLockedUtxos({ lnd: node('seller').lnd })).utxos.length

  /** @returns the prepared fundings, and the reasons why other preparations failed */
  async function outcomes(preparations: readonly Promise<UnpublishedFunding>[]) {
    const all = await Promise.allSettled(preparations)
    const fundings = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const reasons = all.flatMap((one) => (one.status === 'rejected' ? [reasonOf(one.reason)] : []))
    return { fundings, reasons }
  }
  const reasonOf = (error: unknown): string => (error instanceof OpenRefused ? error.reason : String(error))

  /** Publishes all fundings and expects them in blocks. This fails if two fundings spend the same coin. */
  async function publish(fundings: readonly UnpublishedFunding[]): Promise<void> {
    expect(await countLocked()).toBe(fundings.length)
    for (const funding of fundings) await seller.channels.publish(funding)
    await servers().mine(6)
    await waitForResult('all channels are active', async () => {
      const active = (await seller.channels.list()).filter(({ state }) => state === 'active').map(({ outpoint }) => outpoint)
      return fundings.every(({ outpoint }) => active.includes(outpoint))
    })
    expect(await countLocked()).toBe(0)
  }

  it('use a separate coin for each of eight channels', async () => {
    const { fundings, reasons } = await outcomes(Array.from({ length: COINS }, () => prepare('buyer')))
    expect([fundings.length, reasons]).toEqual([COINS, []])
    await publish(fundings)
  })

  it('fail if the coins are used up, and the openings that have a coin succeed', async () => {
    const preparations = Array.from({ length: 2 * COINS }, (_, index) => prepare(index % 2 === 0 ? 'buyer' : 'other'))
    const { fundings, reasons } = await outcomes(preparations)
    expect([fundings.length, reasons]).toEqual([COINS, Array.from({ length: COINS }, () => 'insufficient-funds')])
    await publish(fundings)
  })

  it('do not wait for another opening with a slow peer', async () => {
    const pendingAnswers: (() => void)[] = []
    const requests = subscribeToOpenRequests({ lnd: node('other').lnd })
    requests.on('channel_request', ({ accept }: { accept: () => void }) => pendingAnswers.push(accept))
    // The nodes end before this stream, which then emits an error.
    requests.on('error', () => undefined)
    // The answer shows that lnd has received the subscription, because both requests use one connection in order.
    await getWalletInfo({ lnd: node('other').lnd })
    const slow = prepare('other')
    const accept = await waitForResult('the slow peer has received the request', async () => pendingAnswers[0])
    const { fundings, reasons } = await outcomes([prepare('buyer'), prepare('buyer')])
    expect([fundings.length, reasons]).toEqual([2, []])
    accept()
    await publish([...fundings, await slow])
    requests.removeAllListeners('channel_request')
  })

  it('leave no coin locked for the next opening if the node is killed at any moment', async () => {
    for (const [round, afterMs] of [0, 60, 200].entries()) {
      const alias = round % 2 === 0 ? 'buyer' : 'other'
      const interruptedOpening = outcomes([prepare(alias)])
      await sleep(afterMs)
      await node('seller').kill()
      await node('seller').start()
      await interruptedOpening
      const { pubkey, socket } = node(alias)
      // The client needs a moment to reconnect to its restarted lnd.
      await waitForResult('the peer is connected', () => seller.peers.connect(pubkey, socket).catch(() => false))
      // A pending channel may exist or not. In both cases its funding was not published.
      const pendingChannels = (await seller.channels.list()).filter(({ state }) => state === 'pending')
      const abandoned = await Promise.all(pendingChannels.map(({ outpoint }) => seller.channels.abandon({ outpoint })))
      expect(abandoned).toEqual(pendingChannels.map(() => 'abandoned'))
      const next = await waitForResult('the next opening succeeds', async () => {
        const { fundings } = await outcomes([prepare(alias)])
        return fundings[0]
      })
      expect(await countLocked()).toBe(1)
      expect(await seller.channels.abandon(next)).toBe('abandoned')
      expect(await countLocked()).toBe(0)
    }
  })

  it('report that a funding without change cannot get a higher fee, and leave the funding unchanged', async () => {
    const funding = await prepare('buyer', WHOLE_COIN_SAT)
    const { outputs } = readTransaction(funding.handle)
    expect(outputs.map(({ valueSat }) => valueSat)).toEqual([WHOLE_COIN_SAT])
    await seller.channels.publish(funding)
    expect(await seller.channels.bumpFee(funding.outpoint, 20, 50).catch(reasonOf)).toBe('insufficient-funds')
    await servers().mine()
    // A confirmed funding needs no higher fee, so the call succeeds.
    await seller.channels.bumpFee(funding.outpoint, 20, 50)
  })
})
