import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { isActive } from '@penstock/servers/lightning-channels.ts'
import { closeChannel } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { doubleSpend } from './double-spend.ts'
import { type Deal, exchange } from './exchange.ts'
import { type HandSeller, handSeller, noChannel, openBy } from './hand-seller.ts'
import { miner } from './miner.ts'
import { noLightning } from './servers.ts'

type Sold = { readonly deal: Deal; readonly sale: ListedSale; readonly outpoint: string }

/** Sellers that do something else than what they sold: the buyer's money comes back, and the order says why. */
describe.skipIf(noLightning)('a channel that is not what was sold', () => {
  // More than lnd needs to use a channel, so that it can be closed before it is proven.
  const here = exchange({ sellers: ['seller'], buyers: ['other'], btcd: true, env: { PENSTOCK_REQUIRED_CONFIRMATIONS: '5' } })
  let seller: HandSeller
  beforeAll(async () => {
    seller = await handSeller(here(), 'seller', true)
  })
  afterAll(() => seller.stop())

  const node = (alias: string) => here().servers.node(alias)

  /** Opened as the function says, and named as if it were what was sold. */
  async function sold(open: (sat: number) => Promise<string>): Promise<Sold> {
    const deal = await here().deal()
    await here().paid(deal)
    const sale = await seller.sale(deal)
    const outpoint = await open(Number(sale.sizeSat))
    await seller.name(outpoint, sale)
    return { deal, sale, outpoint }
  }

  async function isPaidBack({ deal }: Sold, status: string, why: RegExp): Promise<void> {
    await here().reaches(deal, status)
    await here().payment(deal, 'failed')
    expect((await here().lightning('market').holds.find(deal.paymentHash))?.state).toBe('cancelled')
    expect(await here().told(deal)).toMatch(why)
  }

  const toBuyer = (sat: number) => seller.open({ peer: node('buyer'), sat, isPrivate: true })
  let spent: Sold
  let misled: Sold
  let borrowed: Sold
  let doubled: Sold
  let foreign: Sold

  it('too small: as soon as it is seen', async () => {
    const small = await sold((sat) => toBuyer(sat - 1000))
    await isPaidBack(small, 'INVALID_CHANNEL_OPENING', /sat were sold/)
  })

  it('no channel at all: an output of a key as soon as it is seen; of anybody’s script nobody can say so', async () => {
    const published = (which: 'ofKey' | 'ofScript') => async (sat: number) => {
      const other = await noChannel(here(), sat)
      await here().servers.chain.rpc('sendrawtransaction', other.raw)
      return other[which]
    }
    foreign = await sold(published('ofScript'))
    await isPaidBack(await sold(published('ofKey')), 'INVALID_CHANNEL_OPENING', /of type p2wpkh/)
  })

  it('pushed: refused where the seller says so', async () => {
    const deal = await here().deal()
    await here().paid(deal)
    const sale = await seller.sale(deal)
    const outpoint = `${'ab'.repeat(32)}:0`
    await expect(seller.name(outpoint, sale, { pushSat: 20_000n })).rejects.toThrow(/push_sats must be 0/)
    await expect(seller.name(outpoint, sale, { capacitySat: 20_000n })).rejects.toThrow(/capacity/)
    await here().reaches(deal, 'WAITING_FOR_CHANNEL_OPEN')
  })

  it('double-spent in a re-organisation, after it was confirmed', async () => {
    spent = await sold(toBuyer)
    misled = await sold((sat) => seller.open({ peer: node('other'), sat }))
    // A channel that the seller has no part in.
    borrowed = await sold((sat) => openBy(node('other'), here(), { peer: node('buyer'), sat }))
    const { coin, transaction } = await doubleSpend(seller.node)
    doubled = await sold((sat) => seller.open({ peer: node('buyer'), sat, isPrivate: true, coin }))
    await here().reaches(doubled.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    // One block and no more: the branch that takes it back is one block deep.
    await here().servers.mine()
    await here().reaches(doubled.deal, 'ON_CHAIN_CONFIRMATION')
    await miner(here().servers).replace(1, [transaction])
    await here().reaches(doubled.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  })

  it('spent before it is proven', async () => {
    await here().servers.mine(3)
    await here().reaches(spent.deal, 'ON_CHAIN_CONFIRMATION')
    const [id = '', vout] = spent.outpoint.split(':')
    await Promise.all([isActive(node('buyer'), spent.outpoint), isActive(node('seller'), spent.outpoint)])
    await closeChannel({ lnd: node('seller').lnd, transaction_id: id, transaction_vout: Number(vout) })
    await here().servers.mine()
    await isPaidBack(spent, 'INVALID_CHANNEL_OPENING', /spends the output/)
  })

  it('to another peer, or somebody else’s: no probe proves it, and the announcement gives it away', async () => {
    await here().mineUntil(misled.deal, 'SELLER_OPENED_CHANNEL', 'INVALID_CHANNEL_OPENING')
    // Whoever watches looks on every block: an announcement that came after its look is seen with the next one.
    for (const one of [misled, borrowed]) {
      await here().mineUntil(one.deal, 'INVALID_CHANNEL_OPENING')
      await isPaidBack(one, 'INVALID_CHANNEL_OPENING', /announced between other nodes/)
    }
    await isPaidBack(doubled, 'SELLER_FAILED_TO_SEND_SWAP', /FundingReorged/)
    // Deep enough long ago, and proven by nothing: it waits for the last height.
    await here().reaches(foreign.deal, 'SELLER_OPENED_CHANNEL')
    expect((await here().lightning('market').holds.find(foreign.deal.paymentHash))?.state).toBe('held')
  })
})
