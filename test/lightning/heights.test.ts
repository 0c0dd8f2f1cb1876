import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getInvoices } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { scratch, spawnProduct } from '../harness/product.ts'
import { doubleSpend } from './double-spend.ts'
import { type Deal, type Exchange, exchange } from './exchange.ts'
import { type HandSeller, handSeller, noChannel, type Opened, TERMS } from './hand-seller.ts'
import { type Laggard, laggard } from './laggard.ts'
import { miner } from './miner.ts'
import { sendPart } from './raw-payments.ts'
import { noLightning, withoutNode } from './servers.ts'

/** Blocks before the end of a payment at which it is settled or given back. */
const GUARD = 24
/** For so long a market without a mempool waits for a block with the funding. */
const SEEN_BLOCKS = 36
const BUY = 'mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'

type Held = { readonly deal: Deal; readonly sale: ListedSale; readonly lastHeight: number }

function handsOf(here: () => Exchange) {
  const node = (alias: string) => here().servers.node(alias)
  const height = () => here().servers.chain.rpc<number>('getblockcount')

  async function hold(seller: HandSeller, input?: object): Promise<Held> {
    const deal = await here().deal(input)
    const { htlcs } = await here().paid(deal)
    const ends = htlcs.map(({ expiryHeight }) => expiryHeight)
    return { deal, sale: await seller.sale(deal), lastHeight: Math.min(...ends) - GUARD }
  }

  /** The same, paid in two halves, of which the second ends two blocks after the first. */
  async function holdInHalves(seller: HandSeller): Promise<Held & { readonly halves: Promise<readonly string[]> }> {
    const deal = await here().deal()
    const totalMsat = BigInt(deal.sats) * 1000n
    const half = () => sendPart(node('buyer'), deal.invoice, { msat: totalMsat / 2n, totalMsat })
    const invoice = () => here().lightning('market').holds.find(deal.paymentHash)
    const first = half()
    await until('the first half waits', async () => (await invoice())?.htlcs.length === 1)
    await here().servers.mine(2)
    const halves = Promise.all([first, half()])
    const sale = await seller.sale(deal)
    const ends = ((await invoice())?.htlcs ?? []).map(({ expiryHeight }) => expiryHeight)
    const end = Math.min(...ends)
    expect(new Set(ends)).toEqual(new Set([end, end + 2]))
    return { deal, sale, lastHeight: end - GUARD, halves }
  }

  /** Opens and names what was sold; its funding waits in the mempool. @returns the funding's id */
  async function open(seller: HandSeller, { deal, sale }: Held, change: Partial<Opened> = {}): Promise<string> {
    const outpoint = await seller.open({ peer: node('buyer'), sat: Number(sale.sizeSat), ...change })
    await seller.name(outpoint, sale)
    // Without a mempool a watch looks at new blocks alone: one that came before it is not looked at.
    await until('it is watched', async () => (await here().told(deal)).includes('"WatchStarted"'))
    return outpoint.slice(0, 64)
  }

  const mineTo = async (wanted: number): Promise<void> => here().servers.mine(wanted - (await height()))
  const state = async ({ deal }: Held) => (await here().lightning('market').holds.find(deal.paymentHash))?.state
  const becomes = (held: Held, wanted: string) => until(`it is ${wanted}`, async () => (await state(held)) === wanted)

  async function isSettled(held: Held): Promise<void> {
    await becomes(held, 'settled')
    await here().reaches(held.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(held.deal, 'succeeded')
  }

  async function isGivenBack(held: Held, status: string, paymentStatus = 'HODL_INVOICE_TIMEOUT'): Promise<void> {
    await becomes(held, 'cancelled')
    await here().reaches(held.deal, status)
    await here().payment(held.deal, 'failed')
    expect((await here().seen(held.deal)).payment_status).toBe(paymentStatus)
  }

  return { node, height, hold, holdInHalves, open, mineTo, state, becomes, isSettled, isGivenBack }
}

/** Blocks bound what is held, whatever is away meanwhile. They come from lnd alone here. */
describe.skipIf(noLightning)('the last height', () => {
  const here = exchange({
    sellers: ['seller', 'stranger'],
    btcd: false,
    args: { stranger: ['--invoices.holdexpirydelta=19'] },
  })
  let rails!: HandSeller
  let stranger: HandSeller
  let behind: Laggard | undefined
  beforeAll(async () => {
    stranger = await handSeller(here(), 'stranger', false)
  })
  afterAll(async () => {
    for (const seller of [rails, stranger]) await seller?.stop()
    await behind?.stop()
  })

  const { node, height, hold, holdInHalves, open, mineTo, state, becomes, isSettled, isGivenBack } = handsOf(here)

  it('the buyer’s node is away: its own block, not one before or after, and a seller of the rails cluster alone is believed', async () => {
    const others = await hold(stranger)
    rails = await handSeller(here(), 'seller', true, { ...TERMS, baseFeeSat: 100n })
    await until('the cheaper one is asked first', async () =>
      (await here().told(await here().deal())).includes(rails.node.pubkey),
    )
    const ours = await hold(rails)
    const unnamed = await hold(rails)
    const payout = await rails.bill(ours.sale)
    await open(stranger, others)
    await open(rails, ours)
    await here().servers.mine()
    await withoutNode(here().servers, 'buyer', async () => {
      await mineTo(ours.lastHeight - 2)
      await here().guarded(() => here().servers.mine())
      for (const one of [others, ours, unnamed]) expect(await here().told(one.deal)).not.toMatch(/SettleRequested|last-height/)
      expect([await state(ours), await state(others)]).toEqual(['held', 'held'])
      await here().servers.mine()
      await becomes(ours, 'settled')
      await becomes(others, 'cancelled')
    })
    await isSettled(ours)
    await isGivenBack(others, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await here().told(ours.deal)).toMatch(/PayoutWithheld/)
    // With its peer back the channel is announced, and that proves it.
    await until('the seller is paid', async () => {
      await here().servers.mine()
      return (await here().lightning('seller').payments.findInvoice(payout))?.state === 'settled'
    })
  })

  it('the market’s lnd is away over it: what was proven meanwhile is settled when it is back, the rest given back', async () => {
    const [proven, unnamed] = [await hold(rails), await hold(rails)]
    await open(rails, proven)
    await withoutNode(here().servers, 'market', () => mineTo(proven.lastHeight + 4))
    await isSettled(proven)
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('the market’s lnd is away past its own deadline: whoever is first when it is back gives everything back', async () => {
    const [confirmed, unnamed] = [await hold(rails), await hold(rails)]
    await open(rails, confirmed)
    await here().servers.mine()
    await here().reaches(confirmed.deal, 'ON_CHAIN_CONFIRMATION')
    await withoutNode(here().servers, 'market', () => mineTo(confirmed.lastHeight + GUARD - 12 + 2))
    await isGivenBack(confirmed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('double-spent while it waits: no mempool tells of it, and what was not seen in time is lost', async () => {
    const doubled = await hold(rails)
    const { coin, transaction } = await doubleSpend(rails.node)
    const named = await height()
    await open(rails, doubled, { coin })
    await miner(here().servers).extend(1, [transaction])
    await mineTo(named + SEEN_BLOCKS - 1)
    await here().reaches(doubled.deal, 'SELLER_SENT_TRANSACTION')
    await here().servers.mine()
    await isGivenBack(doubled, 'SELLER_FAILED_TO_SEND_SWAP', 'SUCCESSFUL_PAYMENT')
    expect(await here().told(doubled.deal)).toContain(`was not seen by block ${named + SEEN_BLOCKS}`)
  })

  it('never sent, taken back by the chain, no channel, another’s channel: each has its own end; a payment in halves comes back at its first', async () => {
    const [unsent, takenBack, wrong] = [await hold(rails), await hold(rails), await hold(rails)]
    const misled = await hold(rails, { options: { private: true } })
    const halves = await holdInHalves(rails)
    const all = [unsent, takenBack, wrong, misled]
    const { lastHeight } = unsent
    expect(all.map((one) => one.lastHeight)).toEqual(all.map(() => lastHeight))
    expect(halves.lastHeight).toBeGreaterThan(lastHeight)
    // Late enough that the guard comes before the watch gives up.
    await mineTo(lastHeight - GUARD)
    const blocks = miner(here().servers)
    const other = await noChannel(here(), Number(wrong.sale.sizeSat))
    await rails.name(`${'ab'.repeat(32)}:0`, unsent.sale)
    await rails.name(other.ofKey, wrong.sale)
    const funding = await blocks.raw(await open(rails, takenBack))
    // Nobody but the two nodes can see whose it is, and the seller signs that it is the buyer's.
    const toAnother = await blocks.raw(await open(rails, misled, { peer: node('stranger'), isPrivate: true }))
    const extendTo = async (wanted: number, transactions?: readonly string[]) =>
      blocks.extend(wanted - (await height()), transactions)
    await extendTo(lastHeight - 6)
    // It waits in the mempool, and no block of lnd's says so.
    await here().reaches(takenBack.deal, 'SELLER_SENT_TRANSACTION')
    await extendTo(lastHeight - 5, [funding])
    await here().reaches(takenBack.deal, 'ON_CHAIN_CONFIRMATION')
    // Seen by the look that found it confirmed, not by one before.
    expect(await here().told(takenBack.deal)).toMatch(/"FundingSeen"[^}]*}},{[^{]*"FundingConfirmed"/)
    await blocks.replace(1)
    await here().reaches(takenBack.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await extendTo(lastHeight - 1, [toAnother])
    await here().reaches(misled.deal, 'SELLER_OPENED_CHANNEL')
    expect(await Promise.all(all.map(state))).toEqual(all.map(() => 'held'))
    for (const { deal } of all) expect(await here().told(deal)).not.toMatch(/SettleRequested|CancelRequested/)
    await extendTo(lastHeight, [other.raw])
    await isGivenBack(unsent, 'SELLER_FAILED_TO_SEND_SWAP')
    await isGivenBack(takenBack, 'SELLER_FAILED_TO_SEND_SWAP')
    // The buyer's node answers, and could have proven a channel of its own.
    await isGivenBack(misled, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await here().told(misled.deal)).toMatch(/BuyerReachTried/)
    await becomes(wrong, 'cancelled')
    // On one block the watch may be sooner than the guard: then it is not the height that has ended it.
    const isByHeight = (await here().told(wrong.deal)).includes('"reason":"last-height"')
    await isGivenBack(wrong, 'INVALID_CHANNEL_OPENING', isByHeight ? 'HODL_INVOICE_TIMEOUT' : 'SUCCESSFUL_PAYMENT')
    await extendTo(halves.lastHeight - 1)
    expect(await state(halves)).toBe('held')
    expect(await here().told(halves.deal)).not.toMatch(/CancelRequested/)
    await extendTo(halves.lastHeight)
    await isGivenBack(halves, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await halves.halves).toEqual(['UnknownPaymentHash', 'UnknownPaymentHash'])
  })

  it('the market is away over it, and comes back with a bitcoin node that is behind lnd: the same by lnd’s own blocks', async () => {
    behind = await laggard()
    const [proven, unnamed] = [await hold(rails), await hold(rails)]
    await open(rails, proven)
    await here().restartMarket(() => mineTo(proven.lastHeight + 4), behind.settings)
    expect(await behind.height()).toBeLessThan(proven.lastHeight)
    await isSettled(proven)
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('the market is away for longer than lnd waits, and its bitcoin node for good: lnd gives everything back, and the order says so', async () => {
    const [named, unnamed] = [await hold(rails), await hold(rails)]
    await open(rails, named)
    await here().servers.mine()
    await here().reaches(named.deal, 'ON_CHAIN_CONFIRMATION')
    const { holdExpiryDelta } = await here().lightning('market').info()
    expect(holdExpiryDelta).toBe(12)
    await here().restartMarket(async () => {
      await mineTo(named.lastHeight + GUARD - 12 - 1)
      expect([await state(named), await state(unnamed)]).toEqual(['held', 'held'])
      await here().servers.mine()
      await becomes(named, 'cancelled')
      await becomes(unnamed, 'cancelled')
      await behind?.stop()
    }, behind?.settings)
    for (const one of [named, unnamed]) await isGivenBack(one, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })

  it('a node that would be sooner than we are is told of at the start, and takes no payment', async () => {
    const { rpcSocket, certFile, adminMacaroonFile, lnd } = node('stranger')
    const starting = spawnProduct(scratch(), {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_FILE: adminMacaroonFile,
    })
    const product = await starting.ready
    await until('it is said', async () => /"holdExpiryDelta":19.*before our guard comes/.test(product.output()))
    const seller = await handSeller({ ...here(), product }, 'seller', true)
    const { pubkey, socket } = node('buyer')
    const input = { connection_uri: `${pubkey}@${socket}`, usd_cents: '500' }
    await until('it is refused for that', async () => {
      const { data, errors } = await graphql<{ liquidity: { buy: object | null } }>(product.url, BUY, { input })
      expect(data?.liquidity.buy).toBeNull()
      return errors?.[0]?.message.startsWith('No payment is taken: our node might give it back before its time')
    })
    expect((await getInvoices({ lnd })).invoices).toEqual([])
    await seller.stop()
    await starting.kill()
  })
})

/** The market hears of blocks while its lnd is away. That one leaves everything to the guard, up to the very end. */
describe.skipIf(noLightning)('the last height, with a bitcoin node', () => {
  const here = exchange({ sellers: ['stranger'], btcd: true, args: { market: ['--invoices.holdexpirydelta=1'] } })
  let stranger: HandSeller
  beforeAll(async () => {
    stranger = await handSeller(here(), 'stranger', false)
  })
  afterAll(() => stranger.stop())

  const { hold, open, mineTo, state, becomes, isSettled, isGivenBack } = handsOf(here)

  it('the market’s lnd is away over it: no word is said before it is back and has heard of the channel', async () => {
    const [proven, unnamed] = [await hold(stranger), await hold(stranger)]
    await open(stranger, proven)
    // The log tells an outage once, whichever order meets it first.
    const cameInVain = (height: number) =>
      until('the guard came in vain', async () =>
        new RegExp(`"height":${height},.*our own node does not answer`).test(here().product.output()),
      )
    await withoutNode(here().servers, 'market', async () => {
      await mineTo(proven.lastHeight)
      await cameInVain(proven.lastHeight)
      // With each block the guard comes again.
      await mineTo(proven.lastHeight + 1)
      for (const { deal } of [proven, unnamed]) expect(await here().told(deal)).not.toMatch(/SettleRequested|CancelRequested/)
    })
    await here().servers.mine()
    await isSettled(proven)
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('the market dies before it has settled, and comes back when that is no longer safe: it gives the payment back', async () => {
    const proven = await hold(stranger)
    await open(stranger, proven)
    await here().restartMarket(() => Promise.resolve(), { PENSTOCK_TEST_CRASH_AT: 'settlement.settle.after-intent' })
    await here().servers.mine(6)
    let isOver = false
    void here().product.ended.then(() => (isOver = true))
    await until('the market dies at its crash point', async () => isOver, 120_000)
    await here().restartMarket(async () => {
      await mineTo(proven.lastHeight + GUARD - 12)
      expect(await state(proven)).toBe('held')
    })
    await becomes(proven, 'cancelled')
    await isGivenBack(proven, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await here().told(proven.deal)).toMatch(/SettleRequested.*SettleMissed/)
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
