import { createHash, randomBytes } from 'node:crypto'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import type { Attestation } from '@penstock/bitcoin/attestation.ts'
import { scriptKind } from '@penstock/bitcoin/script.ts'
import type { ListedSale } from '@penstock/seller-agent/market.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getPayments } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { spawnProduct } from '../harness/product.ts'
import { type Deal, exchange } from './exchange.ts'
import { type HandSeller, handSeller, type Opened } from './hand-seller.ts'
import { connected, noLightning } from './servers.ts'

const BUY = 'mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'

type Kept = { readonly preimage: string; readonly paymentHash: string; readonly request: string }

/** Sellers are paid through another node, once, whatever dies or is exchanged meanwhile. */
describe.skipIf(noLightning)('payouts', () => {
  const here = exchange({ sellers: ['seller'], hops: { seller: 'hop' }, btcd: true })
  let seller: HandSeller
  let owed: { readonly deal: Deal; readonly sale: ListedSale }
  beforeAll(async () => {
    seller = await handSeller(here(), 'seller', false)
  }, 60_000)
  afterAll(() => seller.stop())

  const node = (alias: string) => here().servers.node(alias)
  const sellers = () => here().lightning('seller')
  const count = async (fact: string) => (await here().told(owed.deal)).split(`"stream":"settlement","fact":"${fact}"`).length - 1
  const state = async ({ paymentHash }: Pick<Kept, 'paymentHash'>) => (await sellers().holds.find(paymentHash))?.state

  /** @returns the channel's outpoint */
  async function sell(kind: Partial<Opened> = {}, said: Partial<Attestation> = {}): Promise<string> {
    const deal = await here().deal({ options: { private: kind.isPrivate === true } })
    await here().paid(deal)
    owed = { deal, sale: await seller.sale(deal) }
    const outpoint = await seller.open({ peer: node('buyer'), sat: Number(owed.sale.sizeSat), ...kind })
    await seller.name(outpoint, owed.sale, said)
    await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
    return outpoint
  }

  async function refusal(options: object): Promise<string | undefined> {
    const input = { connection_uri: `${node('buyer').pubkey}@${node('buyer').socket}`, usd_cents: '500', options }
    return (await graphql(here().product.url, BUY, { input })).errors?.[0]?.message
  }

  /** An invoice whose payment the seller keeps until it says so. */
  async function keeping(amountMsat: bigint): Promise<Kept> {
    const preimage = randomBytes(32)
    const paymentHash = createHash('sha256').update(preimage).digest('hex')
    const terms = { paymentHash, amountMsat, cltvDelta: 80, expirySeconds: 72 * 3600, description: 'a payout' }
    return { preimage: preimage.toString('hex'), paymentHash, request: (await sellers().holds.create(terms)).request }
  }

  /** What is settled is in the channel's balance a moment later. */
  const gains = (before: bigint) =>
    until('it has its money, and not more', async () => {
      const gained = (await sellers().wallet.localSat()) - before
      return gained === BigInt(owed.sale.sellerSat)
    })

  // The first one: a channel of the two that is announced could have carried the probe that has to prove it.
  it('for a taproot channel: private alone, from the held payment to the seller’s money, with nobody’s word for it but a probe', async () => {
    const kind = { isPrivate: true, isTaproot: true }
    const announced = seller.open({ peer: node('buyer'), sat: 100_000, ...kind, isPrivate: false })
    await expect(announced).rejects.toSatisfy((why) => /taproot channels must be private/.test(JSON.stringify(why)))
    await here().deal()
    expect(await refusal({ private: true })).toMatch(/^No seller of the rails cluster/)
    await here().product.operator('POST', '/sellers/grant', { pubkey: seller.node.pubkey, reason: 'A test.' })
    const outpoint = await sell(kind, { channelType: 'simplified_taproot' })
    expect((await here().payment(owed.deal, 'succeeded')).state).toBe('succeeded')
    const { script } = (await lndChain(connected(here().servers, 'market')).output(outpoint, 0)) ?? {}
    expect(scriptKind(script ?? '')).toBe('p2tr')
    const ofBuyer = (await here().lightning('buyer').channels.list()).find((channel) => channel.outpoint === outpoint)
    expect(ofBuyer).toMatchObject({ isPrivate: true, channelType: 'simplified_taproot', localSat: 0n })
    expect(await here().lightning('market').graph.channel(outpoint)).toBeUndefined()
    expect(await here().told(owed.deal)).toMatch(/"peer":"probe"/)
    // A seller of the rails cluster waits for no announcement, of which there will be none.
    const before = await sellers().wallet.localSat()
    const payout = await seller.bill(owed.sale)
    await here().servers.mine(3)
    await until('the seller is paid', async () => (await sellers().payments.findInvoice(payout))?.state === 'settled')
    await until('the market knows', async () => (await count('PayoutSucceeded')) === 1)
    await gains(before)
  })

  it('the node in between is paid for passing it on; a push that the seller hid keeps it from nothing', async () => {
    // What it pushed and did not say is a gift to the buyer, who can receive so much less: nobody but the two can see it.
    const pushed = await sell({ pushSat: 20_000 })
    const ofBuyer = (await here().lightning('buyer').channels.list()).find(({ outpoint }) => outpoint === pushed)
    expect(ofBuyer?.localSat).toBe(20_000n)
    const before = await sellers().wallet.localSat()
    const payout = await seller.bill(owed.sale)
    await here().servers.mine(6)
    await until('the seller is paid', async () => (await sellers().payments.findInvoice(payout))?.state === 'settled')
    await until('the market knows', async () => (await count('PayoutSucceeded')) === 1)
    expect(await here().told(owed.deal)).toMatch(/"fact":"PayoutSucceeded".*?"feeMsat":"1\d{3}"/)
    await gains(before)
  })

  let kept: Kept

  it('under way while the market and its lnd are killed, and then another lnd is at its address: it says so, and nothing is sent again', async () => {
    await sell()
    kept = await keeping(BigInt(owed.sale.sellerSat) * 1000n)
    await seller.market.accept(owed.sale.orderId, kept.request)
    await here().servers.mine(6)
    await until('it is at the seller', async () => (await state(kept)) === 'held')
    await here().restartMarket(async () => {
      await node('market').kill()
      await node('market').start()
      await withAnotherNode()
    })
    const { payments } = here().lightning('market')
    await until('lnd knows it still', async () => (await payments.find(kept.paymentHash))?.state === 'in-flight')
    expect([await count('PayoutSucceeded'), await count('PayoutFailed')]).toEqual([0, 0])
    expect((await sellers().holds.find(kept.paymentHash))?.htlcs.length).toBe(1)
  })

  async function withAnotherNode(): Promise<void> {
    const { rpcSocket, certFile, adminMacaroonFile, lnd, pubkey } = node('hop')
    const starting = spawnProduct(here().product.dataDir, {
      ...here().settings,
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_FILE: adminMacaroonFile,
    })
    // It serves, and says so.
    const { output } = await starting.ready
    const said = await until('it is said', async () => /.*the money of open orders is at another node.*/.exec(output())?.[0])
    expect(said).toContain(node('market').pubkey)
    expect(said).toContain(`"connected":"${pubkey}"`)
    expect((await here().seen(owed.deal)).status).toBe('VALID_CHANNEL_OPENING')
    expect((await getPayments({ lnd })).payments).toEqual([])
    await starting.kill()
  }

  it('given up by the seller’s node after all: the next invoice is paid, and only that one', async () => {
    const before = await sellers().wallet.localSat()
    await sellers().holds.cancel(kept.paymentHash)
    await until('the failure is known', async () => (await count('PayoutFailed')) === 1)
    const payout = await seller.bill(owed.sale)
    // What was asked for before is given the time to arrive after all.
    const isPaid = async () => (await sellers().payments.findInvoice(payout))?.state === 'settled'
    await until('the seller is paid', isPaid, 120_000)
    await until('the market knows', async () => (await count('PayoutSucceeded')) === 1)
    await gains(before)
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })

  it('past lnd’s own time-out a payment goes on: asked for again it is the same one', async () => {
    const [arrives, returns] = [await keeping(1_000_000n), await keeping(2_000_000n)]
    const { payments } = here().lightning('market')
    const pay = ({ request }: Kept) => payments.pay(request, { maxFeeMsat: 10_000n, timeoutMs: 1000 })
    for (const one of [arrives, returns]) {
      expect(await pay(one)).toEqual({ state: 'in-flight' })
      await until('it is at the seller', async () => (await state(one)) === 'held')
      expect(await pay(one)).toEqual({ state: 'in-flight' })
      expect((await sellers().holds.find(one.paymentHash))?.htlcs.length).toBe(1)
    }
    await sellers().holds.settle(arrives.preimage)
    await sellers().holds.cancel(returns.paymentHash)
    await until('one has arrived', async () => (await payments.find(arrives.paymentHash))?.state === 'succeeded')
    await until('one has come back', async () => (await payments.find(returns.paymentHash))?.state === 'failed')
    expect(await pay(arrives)).toMatchObject({ state: 'succeeded', preimage: arrives.preimage })
  })
})
