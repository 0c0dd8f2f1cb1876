import { createHash, randomBytes } from 'node:crypto'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import type { ChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { scriptKind } from '@penstock/bitcoin/script.ts'
import type { ListedSale } from '@penstock/seller-agent/market-client.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { getPayments } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendGraphql } from '../support/market-client.ts'
import { spawnProduct } from '../support/product.ts'
import { type LightningPurchase, useLightningEnvironment } from './environment.ts'
import { type ManualLightningSeller, createManualLightningSeller, type ChannelOpening } from './manual-seller.ts'
import { connectToNode, isLightningMissing } from './servers.ts'
import { BUY_MUTATION } from '../support/market-operations.ts'

type HeldPayout = { readonly preimage: string; readonly paymentHash: string; readonly request: string }

/** Sellers are paid once, through another node, although processes crash and the market's node is exchanged. */
describe.skipIf(isLightningMissing)('payouts', () => {
  const getEnvironment = useLightningEnvironment({ sellers: ['seller'], hops: { seller: 'hop' }, btcd: true })
  let seller: ManualLightningSeller
  let owed: { readonly purchase: LightningPurchase; readonly sale: ListedSale }
  beforeAll(async () => {
    seller = await createManualLightningSeller(getEnvironment(), 'seller', false)
  }, 60_000)
  afterAll(() => seller.stop())

  const node = (alias: string) => getEnvironment().servers.node(alias)
  const sellerNode = () => getEnvironment().lightning('seller')
  const count = async (fact: string) =>
    (await getEnvironment().readHistory(owed.purchase)).split(`"stream":"settlement","fact":"${fact}"`).length - 1
  const state = async ({ paymentHash }: Pick<HeldPayout, 'paymentHash'>) => (await sellerNode().holds.find(paymentHash))?.state

  /** Sells a channel. @returns its outpoint once the order is valid */
  async function sell(kind: Partial<ChannelOpening> = {}, changes: Partial<ChannelAttestation> = {}): Promise<string> {
    const purchase = await getEnvironment().buy({ options: { private: kind.isPrivate === true } })
    await getEnvironment().payUntilHeld(purchase)
    owed = { purchase, sale: await seller.waitForSale(purchase) }
    const outpoint = await seller.open({ peer: node('buyer'), sat: Number(owed.sale.sizeSat), ...kind })
    await seller.submitOutpoint(outpoint, owed.sale, changes)
    await getEnvironment().mineUntil(purchase, 'VALID_CHANNEL_OPENING')
    return outpoint
  }

  async function refusal(options: object): Promise<string | undefined> {
    const input = { connection_uri: `${node('buyer').pubkey}@${node('buyer').socket}`, usd_cents: '500', options }
    return (await sendGraphql(getEnvironment().product.url, BUY_MUTATION, { input })).errors?.[0]?.message
  }

  /** Creates a hold invoice of the seller, which the test settles or cancels later. */
  async function createHoldInvoice(amountMsat: bigint): Promise<HeldPayout> {
    const preimage = randomBytes(32)
    const paymentHash = createHash('sha256').update(preimage).digest('hex')
    const terms = { paymentHash, amountMsat, cltvDelta: 80, expirySeconds: 72 * 3600, description: 'a payout' }
    return { preimage: preimage.toString('hex'), paymentHash, request: (await sellerNode().holds.create(terms)).request }
  }

  /** The seller's balance in all channels. lnd's own sum omits channels that are inactive for a moment. */
  const localSat = async (): Promise<bigint> =>
    (await sellerNode().channels.list()).reduce((sum, channel) => sum + channel.localSat, 0n)

  /** Waits for the exact gain, because a channel's balance changes shortly after a payment is settled. */
  const waitForGain = (before: bigint) =>
    waitForResult('the seller has gained exactly its amount', async () => {
      const gained = (await localSat()) - before
      return gained === BigInt(owed.sale.sellerSat)
    })

  // This test runs first, because an announced channel of the same nodes could carry the probe instead of this channel.
  it('reach the seller of a private taproot channel, which only a probe can prove', async () => {
    const kind = { isPrivate: true, isTaproot: true }
    const announced = seller.open({ peer: node('buyer'), sat: 100_000, ...kind, isPrivate: false })
    await expect(announced).rejects.toSatisfy((why) => /taproot channels must be private/.test(JSON.stringify(why)))
    await getEnvironment().buy()
    expect(await refusal({ private: true })).toMatch(/^No seller of the rails cluster/)
    await getEnvironment().product.operator('POST', '/sellers/grant', { pubkey: seller.node.pubkey, reason: 'A test.' })
    const outpoint = await sell(kind, { channelType: 'simplified_taproot' })
    expect((await getEnvironment().waitForPayment(owed.purchase, 'succeeded')).state).toBe('succeeded')
    const { script } = (await lndChain(connectToNode(getEnvironment().servers, 'market')).output(outpoint, 0)) ?? {}
    expect(scriptKind(script ?? '')).toBe('p2tr')
    const ofBuyer = (await getEnvironment().lightning('buyer').channels.list()).find((channel) => channel.outpoint === outpoint)
    expect(ofBuyer).toMatchObject({ isPrivate: true, channelType: 'simplified_taproot', localSat: 0n })
    expect(await getEnvironment().lightning('market').graph.channel(outpoint)).toBeUndefined()
    expect(await getEnvironment().readHistory(owed.purchase)).toMatch(/"peer":"probe"/)
    // The payout to a rails seller does not wait for an announcement, which a private channel never has.
    const before = await localSat()
    const payout = await seller.submitInvoice(owed.sale)
    await getEnvironment().servers.mine(3)
    await waitForResult('the seller is paid', async () => (await sellerNode().payments.findInvoice(payout))?.state === 'settled')
    await waitForResult('the payout is recorded', async () => (await count('PayoutSucceeded')) === 1)
    await waitForGain(before)
  })

  it('pay the routing fee of the forwarding node, also if the seller hid a push amount', async () => {
    // A hidden push amount goes to the buyer, and reduces its inbound capacity. Only the two nodes of the channel know it.
    const pushed = await sell({ pushSat: 20_000 })
    const ofBuyer = (await getEnvironment().lightning('buyer').channels.list()).find(({ outpoint }) => outpoint === pushed)
    expect(ofBuyer?.localSat).toBe(20_000n)
    const before = await localSat()
    const payout = await seller.submitInvoice(owed.sale)
    await getEnvironment().servers.mine(6)
    await waitForResult('the seller is paid', async () => (await sellerNode().payments.findInvoice(payout))?.state === 'settled')
    await waitForResult('the payout is recorded', async () => (await count('PayoutSucceeded')) === 1)
    expect(await getEnvironment().readHistory(owed.purchase)).toMatch(/"fact":"PayoutSucceeded".*?"feeMsat":"1\d{3}"/)
    await waitForGain(before)
  })

  let heldPayout: HeldPayout

  it('are not sent again after the market and its lnd were killed, and a different lnd is reported', async () => {
    await sell()
    heldPayout = await createHoldInvoice(BigInt(owed.sale.sellerSat) * 1000n)
    await seller.market.accept(owed.sale.orderId, heldPayout.request)
    await getEnvironment().servers.mine(6)
    await waitForResult('the payment is at the seller', async () => (await state(heldPayout)) === 'held')
    await getEnvironment().restartMarket(async () => {
      await node('market').kill()
      await node('market').start()
      await startWithOtherNode()
    })
    const { payments } = getEnvironment().lightning('market')
    await waitForResult('lnd has the payment', async () => (await payments.find(heldPayout.paymentHash))?.state === 'in-flight')
    expect([await count('PayoutSucceeded'), await count('PayoutFailed')]).toEqual([0, 0])
    expect((await sellerNode().holds.find(heldPayout.paymentHash))?.htlcs.length).toBe(1)
  })

  async function startWithOtherNode(): Promise<void> {
    const { rpcSocket, certFile, adminMacaroonFile, lnd, pubkey } = node('hop')
    const starting = spawnProduct(getEnvironment().product.dataDir, {
      ...getEnvironment().settings,
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_FILE: adminMacaroonFile,
    })
    // The market starts with the different node, and logs a warning.
    const { output } = await starting.ready
    const logLine = await waitForResult(
      'the different node is logged',
      async () => /.*open orders were paid to a different Lightning node.*/.exec(output())?.[0],
    )
    expect(logLine).toContain(node('market').pubkey)
    expect(logLine).toContain(`"connected":"${pubkey}"`)
    expect((await getEnvironment().readOrder(owed.purchase)).status).toBe('VALID_CHANNEL_OPENING')
    expect((await getPayments({ lnd })).payments).toEqual([])
    await starting.kill()
  }

  it('pay only the next invoice after the seller’s node cancelled the first invoice', async () => {
    const before = await localSat()
    await sellerNode().holds.cancel(heldPayout.paymentHash)
    await waitForResult('the failure is recorded', async () => (await count('PayoutFailed')) === 1)
    const payout = await seller.submitInvoice(owed.sale)
    // The market gives the earlier payment time to arrive before it pays the next invoice.
    const isPaid = async () => (await sellerNode().payments.findInvoice(payout))?.state === 'settled'
    await waitForResult('the seller is paid', isPaid, 120_000)
    await waitForResult('the payout is recorded', async () => (await count('PayoutSucceeded')) === 1)
    await waitForGain(before)
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await getEnvironment().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })

  it('continue after lnd’s own timeout, and a repeated request finds the same payment', async () => {
    const [toSettle, toCancel] = [await createHoldInvoice(1_000_000n), await createHoldInvoice(2_000_000n)]
    const { payments } = getEnvironment().lightning('market')
    const pay = ({ request }: HeldPayout) => payments.pay(request, { maxFeeMsat: 10_000n, timeoutMs: 1000 })
    for (const one of [toSettle, toCancel]) {
      expect(await pay(one)).toEqual({ state: 'in-flight' })
      await waitForResult('the payment is at the seller', async () => (await state(one)) === 'held')
      expect(await pay(one)).toEqual({ state: 'in-flight' })
      expect((await sellerNode().holds.find(one.paymentHash))?.htlcs.length).toBe(1)
    }
    await sellerNode().holds.settle(toSettle.preimage)
    await sellerNode().holds.cancel(toCancel.paymentHash)
    await waitForResult('one payment succeeds', async () => (await payments.find(toSettle.paymentHash))?.state === 'succeeded')
    await waitForResult('one payment fails', async () => (await payments.find(toCancel.paymentHash))?.state === 'failed')
    expect(await pay(toSettle)).toMatchObject({ state: 'succeeded', preimage: toSettle.preimage })
  })
})
