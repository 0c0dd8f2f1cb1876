import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scratch, spawnProduct } from '../harness/product.ts'
import { type Deal, type Exchange, exchange } from './exchange.ts'
import { type HandSeller, handSeller, TERMS } from './hand-seller.ts'
import { type Laggard, laggard } from './laggard.ts'
import { noLightning } from './servers.ts'

/** Blocks before the end of a payment at which it is settled or given back. */
const GUARD = 24

type Held = { readonly deal: Deal; readonly sale: ListedSale; readonly lastHeight: number }

function handsOf(here: () => Exchange) {
  const node = (alias: string) => here().servers.node(alias)
  const height = () => here().servers.chain.rpc<number>('getblockcount')

  async function hold(seller: HandSeller): Promise<Held> {
    const deal = await here().deal()
    const { htlcs } = await here().paid(deal)
    const ends = htlcs.map(({ expiryHeight }) => expiryHeight)
    return { deal, sale: await seller.sale(deal), lastHeight: Math.min(...ends) - GUARD }
  }

  /** Opens and names what was sold; its funding waits in the mempool. */
  async function open(seller: HandSeller, { sale }: Held): Promise<void> {
    await seller.name(await seller.open({ peer: node('buyer'), sat: Number(sale.sizeSat) }), sale)
  }

  const mineTo = async (wanted: number): Promise<void> => here().servers.mine(wanted - (await height()))
  const state = async ({ deal }: Held) => (await here().lightning('market').holds.find(deal.paymentHash))?.state
  const becomes = (held: Held, wanted: string) => until(`it is ${wanted}`, async () => (await state(held)) === wanted)

  async function isSettled(held: Held): Promise<void> {
    await becomes(held, 'settled')
    await here().reaches(held.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(held.deal, 'succeeded')
  }

  async function isGivenBack(held: Held, ...statuses: readonly string[]): Promise<void> {
    await becomes(held, 'cancelled')
    await here().reaches(held.deal, ...statuses)
    await here().payment(held.deal, 'failed')
    expect((await here().seen(held.deal)).payment_status).toBe('HODL_INVOICE_TIMEOUT')
  }

  return { node, hold, open, mineTo, state, becomes, isSettled, isGivenBack }
}

/** Blocks bound what is held, whatever is away meanwhile. They come from lnd alone here. */
describe.skipIf(noLightning)('the last height', () => {
  const here = exchange({
    sellers: ['seller', 'stranger'],
    btcd: false,
    args: { stranger: ['--invoices.holdexpirydelta=24'] },
  })
  let rails: HandSeller
  let stranger: HandSeller
  let behind: Laggard | undefined
  beforeAll(async () => {
    stranger = await handSeller(here(), 'stranger', false)
  }, 60_000)
  afterAll(async () => {
    for (const seller of [rails, stranger]) await seller.stop()
    await behind?.stop()
  })

  const { node, hold, open, mineTo, state, becomes, isSettled, isGivenBack } = handsOf(here)

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
    await node('buyer').kill()
    await mineTo(ours.lastHeight - 1)
    for (const one of [others, ours, unnamed]) expect(await here().told(one.deal)).not.toMatch(/SettleRequested|last-height/)
    expect([await state(ours), await state(others)]).toEqual(['held', 'held'])
    await here().servers.mine()
    await becomes(ours, 'settled')
    await becomes(others, 'cancelled')
    await node('buyer').start()
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
    await node('market').kill()
    await mineTo(proven.lastHeight + 4)
    await node('market').start()
    await isSettled(proven)
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('the market’s lnd is away past its own deadline: whoever is first when it is back gives everything back', async () => {
    const [named, unnamed] = [await hold(rails), await hold(rails)]
    await open(rails, named)
    await node('market').kill()
    await mineTo(named.lastHeight + GUARD - 12 + 2)
    await node('market').start()
    await isGivenBack(named, 'SELLER_FAILED_TO_OPEN_CHANNEL', 'SELLER_FAILED_TO_SEND_SWAP')
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
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
    for (const { deal } of [named, unnamed]) {
      await here().payment(deal, 'failed')
      await here().reaches(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL', 'SELLER_FAILED_TO_SEND_SWAP')
      expect((await here().seen(deal)).payment_status).toBe('HODL_INVOICE_TIMEOUT')
    }
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })

  it('a node that would be sooner than we are is told of at the start', async () => {
    const { rpcSocket, certFile, adminMacaroonFile } = node('stranger')
    const starting = spawnProduct(scratch(), {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_FILE: adminMacaroonFile,
    })
    const { output } = await starting.ready
    await until('it is said', async () => /"holdExpiryDelta":24.*before our guard comes/.test(output()))
    await starting.kill()
  })
})

/** The market hears of blocks while its lnd is away. That one leaves everything to the guard, up to the very end. */
describe.skipIf(noLightning)('the last height, with a bitcoin node', () => {
  const here = exchange({ sellers: ['stranger'], btcd: true, args: { market: ['--invoices.holdexpirydelta=1'] } })
  let stranger: HandSeller
  beforeAll(async () => {
    stranger = await handSeller(here(), 'stranger', false)
  }, 60_000)
  afterAll(() => stranger.stop())

  const { node, hold, open, mineTo, state, becomes, isSettled, isGivenBack } = handsOf(here)

  it('the market’s lnd is away over it: no word is said before it is back and has heard of the channel', async () => {
    const [proven, unnamed] = [await hold(stranger), await hold(stranger)]
    await open(stranger, proven)
    await node('market').kill()
    // With each block the guard comes again.
    for (const after of [0, 1]) {
      await mineTo(proven.lastHeight + after)
      for (const { deal } of [proven, unnamed])
        await until('the guard came in vain', async () => {
          const said = new RegExp(`"order":"${deal.id}","height":${proven.lastHeight + after},.*our own node does not answer`)
          return said.test(here().product.output())
        })
    }
    for (const { deal } of [proven, unnamed]) expect(await here().told(deal)).not.toMatch(/SettleRequested|CancelRequested/)
    await node('market').start()
    await here().servers.mine()
    await isSettled(proven)
    await isGivenBack(unnamed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('the market dies before it has settled, and comes back when that is no longer safe: it gives the payment back', async () => {
    const proven = await hold(stranger)
    await open(stranger, proven)
    await here().restartMarket(() => Promise.resolve(), { PENSTOCK_TEST_CRASH_AT: 'settlement.settle.after-intent' })
    await here().servers.mine(6)
    await here().product.ended
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
