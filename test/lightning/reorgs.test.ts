import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { isActive } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deal, exchange } from './exchange.ts'
import { type HandSeller, handSeller } from './hand-seller.ts'
import { type Miner, miner } from './miner.ts'
import { noLightning } from './servers.ts'

const DEPTHS = [1, 2, 3, 4, 5, 6]
const PAUSE_MS = 150

/** The chain takes back one to six blocks while an order is in each of its statuses. */
describe.skipIf(noLightning)('re-organisations', () => {
  // Every one of them brings a block more, and the funding must not be too late by that.
  const here = exchange({
    sellers: ['seller'],
    btcd: true,
    env: {
      PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
      PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
      // Fewer than lnd needs to use a channel, which it gives up when its funding loses its block: so it waits for its proof.
      PENSTOCK_REQUIRED_CONFIRMATIONS: '2',
      PENSTOCK_PAYOUT_CONFIRMATIONS: '12',
    },
  })
  let seller: HandSeller
  let blocks: Miner
  let deal: Deal
  let sale: ListedSale
  let funding: { readonly outpoint: string; readonly raw: string }
  let payout: string
  beforeAll(async () => {
    seller = await handSeller(here(), 'seller', true)
    blocks = miner(here().servers)
    // lnd forgets a channel that is in use when the block of its funding is taken back; those of the market stay.
    await here().servers.mine(6)
  }, 60_000)
  afterAll(() => seller.stop())

  const node = (alias: string) => here().servers.node(alias)
  const count = async (fact: string, stream = 'settlement') =>
    (await here().told(deal)).split(`"stream":"${stream}","fact":"${fact}"`).length - 1
  const reorgs = () => count('FundingReorged', 'order')

  /** Nothing changes by it, which only a look a moment later can tell. */
  async function staysThrough(status: string): Promise<void> {
    for (const depth of DEPTHS) {
      await blocks.replace(depth)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      await here().reaches(deal, status)
    }
  }

  it('before anything is paid, and while a channel is waited for', async () => {
    deal = await here().deal()
    await staysThrough('WAITING_FOR_BUYER_PAYMENT')
    await here().paid(deal)
    sale = await seller.sale(deal)
    await staysThrough('WAITING_FOR_CHANNEL_OPEN')
    payout = await seller.bill(sale)
  })

  it('named and not seen, and seen', async () => {
    const { channels, peers } = here().lightning('seller')
    const { pubkey: peer, socket } = node('buyer')
    await peers.connect(peer, socket)
    const wanted = { peer, capacitySat: BigInt(sale.sizeSat), isPrivate: false, feeRateSatPerVbyte: 2 }
    const prepared = await channels.prepare(wanted)
    const { outpoint } = prepared
    await seller.name(outpoint, sale)
    await staysThrough('SELLER_SENT_TRANSACTION')
    await channels.publish(prepared)
    funding = { outpoint, raw: await blocks.raw(outpoint.split(':')[0] ?? '') }
    await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await staysThrough('WAITING_FOR_ON_CHAIN_CONFIRMATION')
  })

  it('confirmed: back to the mempool, into another block, and back again', async () => {
    await here().servers.mine()
    await here().reaches(deal, 'ON_CHAIN_CONFIRMATION')
    for (const depth of DEPTHS) {
      const before = await reorgs()
      await blocks.replace(depth)
      await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      expect(await reorgs()).toBe(before + 1)
      await here().servers.mine()
      await here().reaches(deal, 'ON_CHAIN_CONFIRMATION')
    }
  })

  it('deep enough and not proven: taken back with its funding', async () => {
    for (const depth of [6, 5, 4, 3, 2]) {
      await here().servers.mine()
      await here().reaches(deal, 'SELLER_OPENED_CHANNEL')
      const before = await reorgs()
      await blocks.replace(depth)
      await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      expect(await reorgs()).toBe(before + 1)
      await here().servers.mine()
      await here().reaches(deal, 'ON_CHAIN_CONFIRMATION')
    }
    // From block to block, without a moment in which nothing had it.
    const before = await reorgs()
    await blocks.replace(2, [funding.raw])
    await until('it is told', async () => (await reorgs()) === before + 1)
    await here().reaches(deal, 'SELLER_OPENED_CHANNEL', 'VALID_CHANNEL_OPENING')
  })

  it('settled: nothing is taken back, the payout waits for its blocks', async () => {
    await Promise.all(['seller', 'buyer'].map((alias) => isActive(node(alias), funding.outpoint)))
    await here().servers.mine()
    await here().reaches(deal, 'VALID_CHANNEL_OPENING')
    await here().payment(deal, 'succeeded')
    // First one that leaves the funding where it is, before it is deep enough to be paid for.
    for (const depth of [1, 6, 5, 4, 3, 2]) {
      await blocks.replace(depth)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      await here().reaches(deal, 'VALID_CHANNEL_OPENING')
    }
    await until('the incident is told', async () => (await count('IncidentNoted')) > 0)
    expect(await count('PayoutRequested')).toBe(0)
    expect((await here().lightning('seller').payments.findInvoice(payout))?.state).toBe('open')
  })

  it('buried again, it is paid for once', async () => {
    await until('the seller is paid', async () => {
      await here().servers.mine()
      return (await here().lightning('seller').payments.findInvoice(payout))?.state === 'settled'
    })
    expect(await count('HoldSettled')).toBe(1)
    // The seller knows first.
    await until('the market knows', async () => (await count('PayoutSucceeded')) === 1)
    await staysThrough('VALID_CHANNEL_OPENING')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
