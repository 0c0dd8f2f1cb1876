import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UnpublishedFunding } from '@penstock/ports/lightning.ts'
import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { isActive } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { parseMetrics } from '../observability/metrics.ts'
import { type Deal, exchange } from './exchange.ts'
import { type HandSeller, handSeller, TERMS } from './hand-seller.ts'
import { type Miner, miner } from './miner.ts'
import { noLightning } from './servers.ts'

const DEPTHS = [1, 2, 3, 4, 5, 6]
const LEASE_BLOCKS = 60
const OFFERS = 'query { market { offer { offers(page: { limit: 50 }) { list { id auto_accept } } } } }'
const CREATE = 'mutation ($input: CreateManualOrderInput!) { market { order { create(input: $input) { id } } } }'
type Offers = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type Offer = { readonly id: string; readonly auto_accept: boolean }
type Created = { readonly market: { readonly order: { readonly create: { readonly id: string } } } }

/** An order with its funding, which its seller has back in hand. */
type Funded = { readonly deal: Deal; readonly outpoint: string; readonly raw: string; readonly payout: string }

/** The chain takes back one to six blocks while orders are in each of the statuses. */
describe.skipIf(noLightning)('re-organisations', () => {
  // Every one of them brings a block more, and the funding must not be too late by that.
  const here = exchange({
    sellers: ['seller'],
    btcd: true,
    // Later than the market holds a channel for open: lnd gives up one that is in use when its funding loses its block.
    args: { buyer: ['--bitcoin.defaultchanconfs=4'] },
    env: {
      PENSTOCK_FUNDING_SEEN_BLOCKS: '60',
      PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '60',
      PENSTOCK_REQUIRED_CONFIRMATIONS: '2',
      PENSTOCK_PAYOUT_CONFIRMATIONS: '12',
      PENSTOCK_LEASE_BLOCKS: `${LEASE_BLOCKS}`,
    },
  })
  let seller: HandSeller
  /** It has an offer that sells to nobody unasked. */
  let asked: HandSeller
  let blocks: Miner
  /** Orders that wait, by their status; nothing changes for them. */
  const waiting = new Map<string, Deal>()
  let sold: Funded
  /** Its funding is in no block, or in the newest one: what becomes of it shows that the market has looked at the tip. */
  let witness: Funded
  beforeAll(async () => {
    seller = await handSeller(here(), 'seller', true)
    asked = await handSeller(here(), 'buyer', false, { ...TERMS, autoAccept: false })
    blocks = miner(here().servers)
    // lnd forgets a channel that is in use when the block of its funding is taken back; those of the market stay.
    await here().servers.mine(6)
  }, 60_000)
  afterAll(async () => {
    await seller.stop()
    await asked.stop()
  })

  const node = (alias: string) => here().servers.node(alias)
  const count = async (deal: Deal, fact: string, stream = 'settlement') =>
    (await here().told(deal)).split(`"stream":"${stream}","fact":"${fact}"`).length - 1
  const reorgs = (deal: Deal) => count(deal, 'FundingReorged', 'order')

  /** Of a sale whose funding was prepared and named, and that nobody has seen yet. */
  type Named = { readonly deal: Deal; readonly prepared: UnpublishedFunding; readonly payout: string }
  async function named(): Promise<Named> {
    const { deal, sale } = await held()
    const payout = await seller.bill(sale)
    const { channels, peers } = here().lightning('seller')
    await peers.connect(node('buyer').pubkey, node('buyer').socket)
    const prepared = await channels.prepare({
      peer: node('buyer').pubkey,
      capacitySat: BigInt(sale.sizeSat),
      isPrivate: false,
      feeRateSatPerVbyte: 2,
    })
    await seller.name(prepared.outpoint, sale)
    await here().reaches(deal, 'SELLER_SENT_TRANSACTION')
    return { deal, prepared, payout }
  }

  async function held(): Promise<{ readonly deal: Deal; readonly sale: ListedSale }> {
    const deal = await here().deal()
    await here().paid(deal)
    return { deal, sale: await seller.sale(deal) }
  }

  async function published({ deal, prepared, payout }: Named): Promise<Funded> {
    await here().lightning('seller').channels.publish(prepared)
    return { deal, payout, outpoint: prepared.outpoint, raw: await blocks.raw(prepared.outpoint.split(':')[0] ?? '') }
  }

  /** An order that its seller has to accept first. */
  async function unanswered(key: string): Promise<Deal> {
    const { id: offer_id } = await until('its offer is in the book', async () => {
      const { data } = await graphql<Offers>(here().product.url, OFFERS, {}, key)
      return data?.market.offer.offers.list.find(({ auto_accept }) => !auto_accept)
    })
    const input = { offer_id, pubkey: node('seller').pubkey, size: '1000000' }
    const answer = await graphql<Created>(here().product.url, CREATE, { input }, key)
    const id = answer.data?.market.order.create.id
    if (id === undefined) throw new Error(JSON.stringify(answer))
    return { id, key, invoice: '', sats: '', page: '', paymentHash: '' }
  }

  /** The funding of an order is taken back with its block, and the market says so: it has looked at the tip. */
  async function takesBack({ deal }: Funded, depth: number, transactions: readonly string[] = []): Promise<void> {
    const before = await reorgs(deal)
    await blocks.replace(depth, transactions)
    await until(`a re-org of ${depth} is told`, async () => (await reorgs(deal)) === before + 1)
  }

  async function confirms({ deal, raw }: Funded): Promise<void> {
    await blocks.extend(1, [raw])
    await here().reaches(deal, 'ON_CHAIN_CONFIRMATION')
  }

  async function allWait(): Promise<void> {
    for (const [status, deal] of waiting) {
      expect([status, (await here().seen(deal)).status]).toEqual([status, status])
      expect([status, await reorgs(deal)]).toEqual([status, 0])
    }
  }

  /** Nothing changes by it. The market shows the height of the chain that it follows, if not at once. */
  async function staysThrough(depth: number, { deal }: Funded, status: string): Promise<void> {
    const before = await reorgs(deal)
    await blocks.replace(depth)
    const height = await here().servers.chain.rpc<number>('getblockcount')
    const headers = { authorization: `Bearer ${readFileSync(join(here().product.dataDir, 'operator.token'), 'utf8').trim()}` }
    await until(`the market is at ${height}`, async () => {
      const page = await fetch(`${here().product.url}/operator/metrics`, { headers })
      return parseMetrics(await page.text()).max({ name: 'penstock_chain_tip_height' }) === height
    })
    await here().reaches(deal, status)
    expect(await reorgs(deal)).toBe(before)
  }

  it('confirmed: back to the mempool, and into another block; who waits for anything else goes on waiting', async () => {
    const unpaid = await here().deal()
    waiting.set('WAITING_FOR_BUYER_PAYMENT', unpaid)
    waiting.set('WAITING_FOR_SELLER_APPROVAL', await unanswered(unpaid.key))
    waiting.set('WAITING_FOR_CHANNEL_OPEN', (await held()).deal)
    waiting.set('SELLER_SENT_TRANSACTION', (await named()).deal)
    sold = await published(await named())
    witness = await published(await named())
    for (const { deal } of [sold, witness]) await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    waiting.set('WAITING_FOR_ON_CHAIN_CONFIRMATION', witness.deal)
    for (const [status, deal] of waiting) await here().reaches(deal, status)
    await confirms(sold)
    for (const depth of DEPTHS) {
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await allWait()
      await confirms(sold)
    }
    await allWait()
  })

  it('deep enough and not proven: one that leaves the funding where it is changes nothing, others take it back', async () => {
    await here().servers.mine()
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await here().reaches(witness.deal, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.deal)
    await takesBack(witness, 1)
    for (const depth of [6, 5, 4, 3, 2]) {
      await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
      expect(await reorgs(sold.deal)).toBe(before + 6 - depth)
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirms(sold)
      if (depth > 2) await blocks.extend(1)
    }
    // From block to block, without a moment in which nothing had it.
    await takesBack(sold, 2, [sold.raw])
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
  })

  it('settled: nothing is taken back, the payout waits for its blocks', async () => {
    await blocks.extend(1)
    await Promise.all(['seller', 'buyer'].map((alias) => isActive(node(alias), sold.outpoint)))
    await here().servers.mine()
    await here().reaches(sold.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(sold.deal, 'succeeded')
    await here().reaches(witness.deal, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.deal)
    // First one that leaves the funding where it is, before it is deep enough to be paid for.
    await takesBack(witness, 1)
    expect(await count(sold.deal, 'IncidentNoted')).toBe(0)
    await blocks.replace(6)
    await until('the incident is told', async () => (await count(sold.deal, 'IncidentNoted')) > 0)
    for (const depth of [5, 2]) {
      await confirms(witness)
      await takesBack(witness, depth)
      await here().reaches(sold.deal, 'VALID_CHANNEL_OPENING')
    }
    expect(await reorgs(sold.deal)).toBe(before)
    expect(await count(sold.deal, 'PayoutRequested')).toBe(0)
    expect((await here().lightning('seller').payments.findInvoice(sold.payout))?.state).toBe('open')
  })

  it('buried again, it is paid for once, and over in the end', async () => {
    await until('the seller is paid', async () => {
      await here().servers.mine()
      return (await here().lightning('seller').payments.findInvoice(sold.payout))?.state === 'settled'
    })
    expect(await count(sold.deal, 'HoldSettled')).toBe(1)
    // The seller knows first.
    await until('the market knows', async () => (await count(sold.deal, 'PayoutSucceeded')) === 1)
    await staysThrough(6, sold, 'VALID_CHANNEL_OPENING')
    await here().servers.mine(LEASE_BLOCKS)
    await here().reaches(sold.deal, 'CHANNEL_MONITORING_FINISHED')
    for (const depth of [1, 6]) await staysThrough(depth, sold, 'CHANNEL_MONITORING_FINISHED')
    expect(await count(sold.deal, 'PayoutSucceeded')).toBe(1)
  })

  it('the same with blocks from lnd alone', async () => {
    await here().restartMarket(() => Promise.resolve(), { PENSTOCK_BITCOIND_URL: '', PENSTOCK_BITCOIND_CERT_FILE: '' })
    sold = await published(await named())
    await confirms(sold)
    for (const depth of [1, 3, 6]) {
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirms(sold)
    }
    await blocks.extend(1)
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await takesBack(sold, 2)
    await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await confirms(sold)
    await takesBack(sold, 2, [sold.raw])
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await here().mineUntil(sold.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(sold.deal, 'succeeded')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
