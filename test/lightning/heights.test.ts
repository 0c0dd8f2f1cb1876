import type { ListedSale } from '@penstock/seller-agent/market-client.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { getInvoices } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendGraphql } from '../support/market-client.ts'
import { makeTempFolder, spawnProduct } from '../support/product.ts'
import { createDoubleSpend } from './double-spend.ts'
import { type LightningPurchase, type LightningEnvironment, useLightningEnvironment } from './environment.ts'
import {
  type ManualLightningSeller,
  createManualLightningSeller,
  createNonChannelTransaction,
  type ChannelOpening,
  MANUAL_SELLER_TERMS,
} from './manual-seller.ts'
import { type LaggingBtcd, startLaggingBtcd } from './lagging-btcd.ts'
import { createManualMiner } from './miner.ts'
import { sendPaymentPart } from './raw-payments.ts'
import { isLightningMissing, runWithoutNode } from './servers.ts'
import { BUY_MUTATION } from '../support/market-operations.ts'

/** Blocks before a payment's expiry height at which the guard settles or cancels it. */
const GUARD = 24
/** Number of blocks for which a market without a mempool waits for the funding. */
const SEEN_BLOCKS = 36

type HeldOrderAtHeight = { readonly purchase: LightningPurchase; readonly sale: ListedSale; readonly lastHeight: number }

function createManualActions(getEnvironment: () => LightningEnvironment) {
  const node = (alias: string) => getEnvironment().servers.node(alias)
  const height = () => getEnvironment().servers.chain.rpc<number>('getblockcount')

  async function hold(seller: ManualLightningSeller, input?: object): Promise<HeldOrderAtHeight> {
    const purchase = await getEnvironment().buy(input)
    const { htlcs } = await getEnvironment().payUntilHeld(purchase)
    const ends = htlcs.map(({ expiryHeight }) => expiryHeight)
    return { purchase, sale: await seller.waitForSale(purchase), lastHeight: Math.min(...ends) - GUARD }
  }

  /** Buys a channel, and pays in two halves. The second half expires two blocks after the first. */
  async function payInHalves(
    seller: ManualLightningSeller,
  ): Promise<HeldOrderAtHeight & { readonly halves: Promise<readonly string[]> }> {
    const purchase = await getEnvironment().buy()
    const totalMsat = BigInt(purchase.sats) * 1000n
    const payHalf = () => sendPaymentPart(node('buyer'), purchase.invoice, { msat: totalMsat / 2n, totalMsat })
    const invoice = () => getEnvironment().lightning('market').holds.find(purchase.paymentHash)
    const first = payHalf()
    await waitForResult('the first half has arrived', async () => (await invoice())?.htlcs.length === 1)
    await getEnvironment().servers.mine(2)
    const halves = Promise.all([first, payHalf()])
    const sale = await seller.waitForSale(purchase)
    const ends = ((await invoice())?.htlcs ?? []).map(({ expiryHeight }) => expiryHeight)
    const end = Math.min(...ends)
    expect(new Set(ends)).toEqual(new Set([end, end + 2]))
    return { purchase, sale, lastHeight: end - GUARD, halves }
  }

  /** Opens the sold channel and submits its outpoint. Its funding remains in the mempool. @returns the funding's txid */
  async function open(
    seller: ManualLightningSeller,
    { purchase, sale }: HeldOrderAtHeight,
    change: Partial<ChannelOpening> = {},
  ): Promise<string> {
    const outpoint = await seller.open({ peer: node('buyer'), sat: Number(sale.sizeSat), ...change })
    await seller.submitOutpoint(outpoint, sale)
    // Without a mempool, the channel watcher checks only blocks after the start of its watch.
    await waitForResult('a watch began', async () => (await getEnvironment().readHistory(purchase)).includes('"WatchStarted"'))
    return outpoint.slice(0, 64)
  }

  const mineTo = async (targetHeight: number): Promise<void> => getEnvironment().servers.mine(targetHeight - (await height()))
  const state = async ({ purchase }: HeldOrderAtHeight) =>
    (await getEnvironment().lightning('market').holds.find(purchase.paymentHash))?.state
  const waitForState = (heldOrder: HeldOrderAtHeight, holdState: string) =>
    waitForResult(`the hold is ${holdState}`, async () => (await state(heldOrder)) === holdState)

  async function expectSettled(heldOrder: HeldOrderAtHeight): Promise<void> {
    await waitForState(heldOrder, 'settled')
    await getEnvironment().waitForStatus(heldOrder.purchase, 'VALID_CHANNEL_OPENING')
    await getEnvironment().waitForPayment(heldOrder.purchase, 'succeeded')
  }

  async function expectCancelled(
    heldOrder: HeldOrderAtHeight,
    status: string,
    paymentStatus = 'HODL_INVOICE_TIMEOUT',
  ): Promise<void> {
    await waitForState(heldOrder, 'cancelled')
    await getEnvironment().waitForStatus(heldOrder.purchase, status)
    await getEnvironment().waitForPayment(heldOrder.purchase, 'failed')
    expect((await getEnvironment().readOrder(heldOrder.purchase)).payment_status).toBe(paymentStatus)
  }

  return {
    node,
    height,
    hold,
    payInHalves,
    open,
    mineTo,
    state,
    waitForState,
    expectSettled,
    expectCancelled,
  }
}

/** Every hold ends by a block height, also while a node or process is down. This market reads blocks only from lnd. */
describe.skipIf(isLightningMissing)('the last height', () => {
  const getEnvironment = useLightningEnvironment({
    sellers: ['seller', 'stranger'],
    btcd: false,
    args: { stranger: ['--invoices.holdexpirydelta=19'] },
  })
  let rails!: ManualLightningSeller
  let stranger: ManualLightningSeller
  let laggingBtcd: LaggingBtcd | undefined
  beforeAll(async () => {
    stranger = await createManualLightningSeller(getEnvironment(), 'stranger', false)
  })
  afterAll(async () => {
    for (const seller of [rails, stranger]) await seller?.stop()
    await laggingBtcd?.stop()
  })

  const { node, height, hold, payInHalves, open, mineTo, state, waitForState, expectSettled, expectCancelled } =
    createManualActions(getEnvironment)

  it('settles only a rails seller’s hold if the buyer is unreachable, and the payout waits for a peer proof', async () => {
    const strangerHold = await hold(stranger)
    rails = await createManualLightningSeller(getEnvironment(), 'seller', true, { ...MANUAL_SELLER_TERMS, baseFeeSat: 100n })
    await waitForResult('the cheaper seller is asked first', async () =>
      (await getEnvironment().readHistory(await getEnvironment().buy())).includes(rails.node.pubkey),
    )
    const railsHold = await hold(rails)
    const notSubmitted = await hold(rails)
    const payout = await rails.submitInvoice(railsHold.sale)
    await open(stranger, strangerHold)
    await open(rails, railsHold)
    await getEnvironment().servers.mine()
    await runWithoutNode(getEnvironment().servers, 'buyer', async () => {
      await mineTo(railsHold.lastHeight - 2)
      await getEnvironment().mineAndWaitForGuard(() => getEnvironment().servers.mine())
      for (const one of [strangerHold, railsHold, notSubmitted])
        expect(await getEnvironment().readHistory(one.purchase)).not.toMatch(/SettlementStarted|last-height/)
      expect([await state(railsHold), await state(strangerHold)]).toEqual(['held', 'held'])
      await getEnvironment().servers.mine()
      await waitForState(railsHold, 'settled')
      await waitForState(strangerHold, 'cancelled')
    })
    await expectSettled(railsHold)
    await expectCancelled(strangerHold, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    await expectCancelled(notSubmitted, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await getEnvironment().readHistory(railsHold.purchase)).toMatch(/PayoutWithheld/)
    // When the buyer's node is up again, the channel is announced, which proves it.
    await waitForResult('the seller is paid', async () => {
      await getEnvironment().servers.mine()
      return (await getEnvironment().lightning('seller').payments.findInvoice(payout))?.state === 'settled'
    })
  })

  it('is reached while the market’s lnd is down: afterwards, proven holds are settled and others cancelled', async () => {
    const [proven, notSubmitted] = [await hold(rails), await hold(rails)]
    await open(rails, proven)
    await runWithoutNode(getEnvironment().servers, 'market', () => mineTo(proven.lastHeight + 4))
    await expectSettled(proven)
    await expectCancelled(notSubmitted, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('and lnd’s own deadline are reached while lnd is down: every hold is cancelled', async () => {
    const [confirmed, notSubmitted] = [await hold(rails), await hold(rails)]
    await open(rails, confirmed)
    await getEnvironment().servers.mine()
    await getEnvironment().waitForStatus(confirmed.purchase, 'ON_CHAIN_CONFIRMATION')
    await runWithoutNode(getEnvironment().servers, 'market', () => mineTo(confirmed.lastHeight + GUARD - 12 + 2))
    await expectCancelled(confirmed, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    await expectCancelled(notSubmitted, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('does not decide on a double-spent funding: the order fails when no block contains the funding in time', async () => {
    const doubled = await hold(rails)
    const { coin, transaction } = await createDoubleSpend(rails.node)
    const submitted = await height()
    await open(rails, doubled, { coin })
    await createManualMiner(getEnvironment().servers).extend(1, [transaction])
    await mineTo(submitted + SEEN_BLOCKS - 1)
    await getEnvironment().waitForStatus(doubled.purchase, 'SELLER_SENT_TRANSACTION')
    await getEnvironment().servers.mine()
    // The status means that the market saw no funding transaction in time.
    await expectCancelled(doubled, 'SELLER_FAILED_TO_SEND_SWAP', 'SUCCESSFUL_PAYMENT')
    expect(await getEnvironment().readHistory(doubled.purchase)).toContain(`was not seen by block ${submitted + SEEN_BLOCKS}`)
  })

  it('cancels each kind of bad funding with its own status, and a payment in halves by its first expiry height', async () => {
    const [unsent, takenBack, invalid] = [await hold(rails), await hold(rails), await hold(rails)]
    const falselyAttested = await hold(rails, { options: { private: true } })
    const halves = await payInHalves(rails)
    const orders = [unsent, takenBack, invalid, falselyAttested]
    const { lastHeight } = unsent
    expect(orders.map((one) => one.lastHeight)).toEqual(orders.map(() => lastHeight))
    expect(halves.lastHeight).toBeGreaterThan(lastHeight)
    // A watch that starts here waits for its funding until 12 blocks after the last height. So the guard decides first.
    await mineTo(lastHeight - GUARD)
    const blocks = createManualMiner(getEnvironment().servers)
    const other = await createNonChannelTransaction(getEnvironment(), Number(invalid.sale.sizeSat))
    await rails.submitOutpoint(`${'ab'.repeat(32)}:0`, unsent.sale)
    await rails.submitOutpoint(other.keyOutpoint, invalid.sale)
    const funding = await blocks.raw(await open(rails, takenBack))
    // The seller attests a private channel to the buyer, but its other node is a stranger. Only the two nodes know this.
    const toAnother = await blocks.raw(await open(rails, falselyAttested, { peer: node('stranger'), isPrivate: true }))
    const extendTo = async (targetHeight: number, transactions?: readonly string[]) =>
      blocks.extend(targetHeight - (await height()), transactions)
    await extendTo(lastHeight - 6)
    // The funding is in the mempool, which lnd does not show.
    await getEnvironment().waitForStatus(takenBack.purchase, 'SELLER_SENT_TRANSACTION')
    await extendTo(lastHeight - 5, [funding])
    await getEnvironment().waitForStatus(takenBack.purchase, 'ON_CHAIN_CONFIRMATION')
    // One check of the watcher found the funding and its confirmation.
    expect(await getEnvironment().readHistory(takenBack.purchase)).toMatch(/"FundingSeen"[^}]*}},{[^{]*"FundingConfirmed"/)
    await blocks.replace(1)
    await getEnvironment().waitForStatus(takenBack.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await extendTo(lastHeight - 1, [toAnother])
    await getEnvironment().waitForStatus(falselyAttested.purchase, 'SELLER_OPENED_CHANNEL')
    expect(await Promise.all(orders.map(state))).toEqual(orders.map(() => 'held'))
    for (const { purchase } of orders)
      expect(await getEnvironment().readHistory(purchase)).not.toMatch(/SettlementStarted|CancelRequested/)
    await extendTo(lastHeight, [other.rawTransaction])
    await expectCancelled(unsent, 'SELLER_FAILED_TO_SEND_SWAP')
    await expectCancelled(takenBack, 'SELLER_FAILED_TO_SEND_SWAP')
    // The buyer's node is reachable, so the seller could have proven a channel to it, and gets the blame.
    await expectCancelled(falselyAttested, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await getEnvironment().readHistory(falselyAttested.purchase)).toMatch(/BuyerReachTried/)
    await waitForState(invalid, 'cancelled')
    // At this block, the watcher may act before the guard. Then the last height is not the reason of the cancellation.
    const isByHeight = (await getEnvironment().readHistory(invalid.purchase)).includes('"reason":"last-height"')
    await expectCancelled(invalid, 'INVALID_CHANNEL_OPENING', isByHeight ? 'HODL_INVOICE_TIMEOUT' : 'SUCCESSFUL_PAYMENT')
    await extendTo(halves.lastHeight - 1)
    expect(await state(halves)).toBe('held')
    expect(await getEnvironment().readHistory(halves.purchase)).not.toMatch(/CancelRequested/)
    await extendTo(halves.lastHeight)
    await expectCancelled(halves, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await halves.halves).toEqual(['UnknownPaymentHash', 'UnknownPaymentHash'])
  })

  it('is reached while the market is down: after the restart it uses lnd’s blocks if the bitcoin node lags', async () => {
    laggingBtcd = await startLaggingBtcd()
    const [proven, notSubmitted] = [await hold(rails), await hold(rails)]
    await open(rails, proven)
    await getEnvironment().restartMarket(() => mineTo(proven.lastHeight + 4), laggingBtcd.settings)
    expect(await laggingBtcd.height()).toBeLessThan(proven.lastHeight)
    await expectSettled(proven)
    await expectCancelled(notSubmitted, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('and lnd’s deadline are reached while the market is down: orders record that lnd cancelled the holds', async () => {
    const [submitted, notSubmitted] = [await hold(rails), await hold(rails)]
    await open(rails, submitted)
    await getEnvironment().servers.mine()
    await getEnvironment().waitForStatus(submitted.purchase, 'ON_CHAIN_CONFIRMATION')
    const { holdExpiryDelta } = await getEnvironment().lightning('market').info()
    expect(holdExpiryDelta).toBe(12)
    await getEnvironment().restartMarket(async () => {
      await mineTo(submitted.lastHeight + GUARD - 12 - 1)
      expect([await state(submitted), await state(notSubmitted)]).toEqual(['held', 'held'])
      await getEnvironment().servers.mine()
      await waitForState(submitted, 'cancelled')
      await waitForState(notSubmitted, 'cancelled')
      await laggingBtcd?.stop()
    }, laggingBtcd?.settings)
    for (const one of [submitted, notSubmitted]) await expectCancelled(one, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await getEnvironment().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })

  it('comes after lnd’s deadline at a misconfigured node: the start logs this, and no invoice is issued', async () => {
    const { rpcSocket, certFile, adminMacaroonFile, lnd } = node('stranger')
    const starting = spawnProduct(makeTempFolder(), {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_FILE: adminMacaroonFile,
    })
    const product = await starting.ready
    await waitForResult('the start logs this', async () =>
      /"holdExpiryDelta":19.*hold-expiry delta is too large/.test(product.output()),
    )
    const seller = await createManualLightningSeller({ ...getEnvironment(), product }, 'seller', true)
    const { pubkey, socket } = node('buyer')
    const input = { connection_uri: `${pubkey}@${socket}`, usd_cents: '500' }
    await waitForResult('it is refused for that', async () => {
      const { data, errors } = await sendGraphql<{ liquidity: { buy: object | null } }>(product.url, BUY_MUTATION, { input })
      expect(data?.liquidity.buy).toBeNull()
      return errors?.[0]?.message.startsWith("Temporarily unavailable: the operator's node")
    })
    expect((await getInvoices({ lnd })).invoices).toEqual([])
    await seller.stop()
    await starting.kill()
  })
})

/** The market reads blocks from btcd, also while its lnd is down. This lnd cancels a hold one block before its expiry height. */
describe.skipIf(isLightningMissing)('the last height, with a bitcoin node', () => {
  const getEnvironment = useLightningEnvironment({
    sellers: ['stranger'],
    btcd: true,
    args: { market: ['--invoices.holdexpirydelta=1'] },
  })
  let stranger: ManualLightningSeller
  beforeAll(async () => {
    stranger = await createManualLightningSeller(getEnvironment(), 'stranger', false)
  })
  afterAll(() => stranger.stop())

  const { hold, open, mineTo, state, waitForState, expectSettled, expectCancelled } = createManualActions(getEnvironment)

  it('is reached while the market’s lnd is down: no hold is decided until lnd is up again and lists the channel', async () => {
    const [proven, notSubmitted] = [await hold(stranger), await hold(stranger)]
    await open(stranger, proven)
    // The log reports an outage once, for the first affected order.
    const waitForGuardFailure = (height: number) =>
      waitForResult('the guard could not reach its node', async () =>
        new RegExp(`"height":${height},.*our own node does not answer`).test(getEnvironment().product.output()),
      )
    await runWithoutNode(getEnvironment().servers, 'market', async () => {
      await mineTo(proven.lastHeight)
      await waitForGuardFailure(proven.lastHeight)
      // The guard tries again on each block.
      await mineTo(proven.lastHeight + 1)
      for (const { purchase } of [proven, notSubmitted])
        expect(await getEnvironment().readHistory(purchase)).not.toMatch(/SettlementStarted|CancelRequested/)
    })
    await getEnvironment().servers.mine()
    await expectSettled(proven)
    await expectCancelled(notSubmitted, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('is reached after a crash of the market before settling: the market cancels when settling is no longer safe', async () => {
    const proven = await hold(stranger)
    await open(stranger, proven)
    await getEnvironment().restartMarket(() => Promise.resolve(), { PENSTOCK_TEST_CRASH_AT: 'settlement.settle.after-intent' })
    await getEnvironment().servers.mine(6)
    let isOver = false
    void getEnvironment().product.ended.then(() => (isOver = true))
    await waitForResult('the market crashes at its crash point', async () => isOver, 120_000)
    await getEnvironment().restartMarket(async () => {
      await mineTo(proven.lastHeight + GUARD - 12)
      expect(await state(proven)).toBe('held')
    })
    await waitForState(proven, 'cancelled')
    await expectCancelled(proven, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(await getEnvironment().readHistory(proven.purchase)).toMatch(/SettlementStarted.*SettlementMissed/)
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await getEnvironment().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
