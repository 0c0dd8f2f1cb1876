import { setTimeout as sleep } from 'node:timers/promises'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendGraphql } from '../support/market-client.ts'
import { type AgentProcess, createAgentStarter } from './agents.ts'
import { type LightningPurchase, useLightningEnvironment } from './environment.ts'
import { payInParts, sendPaymentPart } from './raw-payments.ts'
import { isLightningMissing, runWithoutNode } from './servers.ts'
import { CANCEL_MUTATION } from '../support/market-operations.ts'

const PRICE_MSAT = 5_000_000n
/** One of two halves of a payment. In some tests, the other half never arrives. */
const PART = { msat: PRICE_MSAT / 2n, totalMsat: PRICE_MSAT }
/** Races of a payment and a cancellation: the first delay in ms, and the minimum and maximum number of races. */
const [SOON_MS, RACES, MOST_RACES] = [64, 5, 12]
/** Private channels, because a probe proves each of them even if the two nodes have other channels. */
const PRIVATE_CHANNEL = { options: { private: true } }

/** Buyers and their nodes pay invoices in unusual ways. Every order ends, and each payment matches the status of its order. */
describe.skipIf(isLightningMissing)('buyers', () => {
  const getEnvironment = useLightningEnvironment({
    sellers: ['seller'],
    buyers: ['picky'],
    // This node rejects channels of the size that these tests sell.
    args: { picky: ['--minchansize=10000000'] },
    btcd: true,
    env: { PENSTOCK_INVOICE_EXPIRY_SECONDS: '40' },
  })
  let start: Awaited<ReturnType<typeof createAgentStarter>>
  let agent: AgentProcess
  let lateOrder: LightningPurchase
  /** An order of which the buyer pays only one half. */
  let partly: { readonly purchase: LightningPurchase; readonly part: Promise<string> }
  beforeAll(async () => {
    start = await createAgentStarter(getEnvironment(), 'seller', 3)
    agent = start()
    lateOrder = await getEnvironment().buy(PRIVATE_CHANNEL)
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    partly = { purchase, part: sendPaymentPart(node('buyer'), purchase.invoice, PART) }
    await waitForPart(purchase)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => getEnvironment().servers.node(alias)
  const invoice = ({ paymentHash }: LightningPurchase) => getEnvironment().lightning('market').holds.find(paymentHash)
  const waitUntilHeld = (purchase: LightningPurchase) =>
    waitForResult('the payment is held', async () => {
      const now = await invoice(purchase)
      return now?.state === 'held' && now
    })

  async function waitForPart(purchase: LightningPurchase): Promise<void> {
    await waitForResult('the first part has arrived', async () => (await invoice(purchase))?.htlcs.length === 1)
    expect((await invoice(purchase))?.state).toBe('open')
  }

  async function expectSold(purchase: LightningPurchase): Promise<string> {
    await getEnvironment().mineUntil(purchase, 'VALID_CHANNEL_OPENING')
    expect((await invoice(purchase))?.state).toBe('settled')
    return getEnvironment().readHistory(purchase)
  }

  async function expectCancelled(purchase: LightningPurchase, status: string): Promise<void> {
    await getEnvironment().waitForStatus(purchase, status)
    expect((await invoice(purchase))?.state).toBe('cancelled')
    await getEnvironment().waitForPayment(purchase, 'failed')
  }

  async function expectWithdrawn(purchase: LightningPurchase): Promise<void> {
    await getEnvironment().waitForStatus(purchase, 'BUYER_REJECTED')
    expect((await invoice(purchase))?.state).toBe('cancelled')
    const payments = getEnvironment().lightning('buyer').payments
    await waitForResult(
      'no payment is in flight',
      async () => ((await payments.find(purchase.paymentHash))?.state ?? 'failed') === 'failed',
    )
  }

  /** Expects that the only part of a payment was cancelled, without a hold, a request to a seller or a ledger entry. */
  async function expectPartCancelled(purchase: LightningPurchase, part: Promise<string>): Promise<void> {
    expect(await part).toBe('UnknownPaymentHash')
    await getEnvironment().waitForPayment(purchase, 'failed')
    const { state, htlcs = [] } = (await invoice(purchase)) ?? {}
    expect([state, htlcs.map((htlc) => [htlc.state, htlc.amountMsat])]).toEqual(['cancelled', [['cancelled', PART.msat]]])
    const heldHolds = await getEnvironment().lightning('market').holds.held()
    expect(heldHolds.map(({ paymentHash }) => paymentHash)).not.toContain(purchase.paymentHash)
    expect(await getEnvironment().readHistory(purchase)).not.toMatch(
      /"(HoldHeld|PaymentHeld|HoldSettled|LedgerPosted|ChannelOpenRequested)"/,
    )
  }

  it('a failed payment changes no order, and parts at different heights are one hold with the lowest expiry', async () => {
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    // This payment fails, because the seller's node has no balance in a channel.
    const sellerPayments = getEnvironment().lightning('seller').payments
    expect(await sellerPayments.pay(purchase.invoice, { maxFeeMsat: 0n, timeoutMs: 5000 })).toMatchObject({ state: 'failed' })
    const first = sendPaymentPart(node('buyer'), purchase.invoice, PART)
    await waitForPart(purchase)
    await getEnvironment().servers.mine(2)
    const second = sendPaymentPart(node('buyer'), purchase.invoice, PART)
    const { htlcs } = await waitUntilHeld(purchase)
    const [low = 0, high = 0] = htlcs.map(({ expiryHeight }) => expiryHeight).toSorted((a, b) => a - b)
    expect(high).toBe(low + 2)
    const history = await expectSold(purchase)
    expect(history).toContain(`"expiryHeight":${low},"heldAtHeight"`)
    expect(await Promise.all([first, second])).toEqual(['paid', 'paid'])
  })

  it('parts into which lnd splits a payment are one hold', async () => {
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    payInParts(node('buyer'), purchase.invoice, 2_000_000n)
    expect((await waitUntilHeld(purchase)).htlcs.length).toBeGreaterThan(2)
    expect(await expectSold(purchase)).toContain('"receivedMsat":"5000000"')
  })

  it('an overpayment is settled in full, and its excess is posted to the ledger, also at three times the price', async () => {
    const [purchase, tripleOrder] = [await getEnvironment().buy(PRIVATE_CHANNEL), await getEnvironment().buy(PRIVATE_CHANNEL)]
    const pay = (one: LightningPurchase, msat: bigint) => sendPaymentPart(node('buyer'), one.invoice, { msat, totalMsat: msat })
    const overpayment = pay(purchase, (PRICE_MSAT * 3n) / 2n)
    expect((await waitUntilHeld(purchase)).htlcs.map(({ amountMsat }) => amountMsat)).toEqual([(PRICE_MSAT * 3n) / 2n])
    const triplePayment = pay(tripleOrder, PRICE_MSAT * 3n)
    await waitUntilHeld(tripleOrder)
    const history = await expectSold(purchase)
    expect(history).toContain('"receivedMsat":"7500000"')
    expect(history).toContain('overpayment')
    expect(await expectSold(tripleOrder)).toContain('"receivedMsat":"15000000"')
    expect(await Promise.all([overpayment, triplePayment])).toEqual(['paid', 'paid'])
  })

  it('a second payment of an invoice fails while the first is held and after it was settled', async () => {
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    await getEnvironment().payUntilHeld(purchase)
    const resendPart = () => sendPaymentPart(node('picky'), purchase.invoice, { msat: PRICE_MSAT, totalMsat: PRICE_MSAT })
    expect(await resendPart()).toBe('UnknownPaymentHash')
    expect((await waitUntilHeld(purchase)).htlcs.filter(({ state }) => state === 'held').length).toBe(1)
    expect(await expectSold(purchase)).toContain('"receivedMsat":"5000000"')
    expect(await resendPart()).toBe('UnknownPaymentHash')
    expect(
      await getEnvironment().lightning('buyer').payments.pay(purchase.invoice, { maxFeeMsat: 0n, timeoutMs: 5000 }),
    ).toMatchObject({
      state: 'succeeded',
    })
  })

  const cancel = async ({ id, key }: LightningPurchase): Promise<boolean> => {
    const input = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    return (await sendGraphql(getEnvironment().product.url, CANCEL_MUTATION, { input }, key)).errors === undefined
  }
  const pay = ({ invoice: request }: LightningPurchase, timeoutMs = 1000) =>
    getEnvironment().lightning('buyer').payments.pay(request, { maxFeeMsat: 0n, timeoutMs })

  it('a payment of a cancelled order fails, and a paid order can no longer be cancelled', async () => {
    const [firstOrder, secondOrder] = [await getEnvironment().buy(PRIVATE_CHANNEL), await getEnvironment().buy(PRIVATE_CHANNEL)]
    expect(await cancel(firstOrder)).toBe(true)
    expect(await pay(firstOrder, 5000)).toMatchObject({ state: 'failed' })
    await expectWithdrawn(firstOrder)
    await getEnvironment().payUntilHeld(secondOrder)
    await waitForResult('the order has recorded the payment', async () =>
      (await getEnvironment().readHistory(secondOrder)).includes('"PaymentHeld"'),
    )
    expect(await cancel(secondOrder)).toBe(false)
    expect(await expectSold(secondOrder)).toContain('"receivedMsat":"5000000"')
  })

  it('a cancellation after one part of the payment cancels this part, and a later part fails', async () => {
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    const part = sendPaymentPart(node('buyer'), purchase.invoice, PART)
    await waitForPart(purchase)
    expect(await cancel(purchase)).toBe(true)
    await expectWithdrawn(purchase)
    await expectPartCancelled(purchase, part)
    expect(await sendPaymentPart(node('buyer'), purchase.invoice, PART)).toBe('UnknownPaymentHash')
    expect((await getEnvironment().readOrder(purchase)).status).toBe('BUYER_REJECTED')
  })

  it('a cancellation and a concurrent payment never both succeed', async () => {
    const ends: { readonly purchase: LightningPurchase; readonly isCancelled: boolean }[] = []
    // The last delays in ms with which the cancellation and the payment won. The delay of the next race is between both.
    let [tooSoonMs, tooLateMs] = [0, Infinity]
    const haveBothWon = (): boolean => tooSoonMs > 0 && tooLateMs < Infinity
    while (ends.length < MOST_RACES && !(haveBothWon() && ends.length >= RACES)) {
      const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
      const afterMs = tooLateMs === Infinity ? Math.max(SOON_MS, 2 * tooSoonMs) : (tooSoonMs + tooLateMs) / 2
      const [isCancelled] = await Promise.all([sleep(afterMs).then(() => cancel(purchase)), pay(purchase)])
      if (isCancelled) tooSoonMs = afterMs
      else tooLateMs = afterMs
      ends.push({ purchase, isCancelled })
    }
    expect(haveBothWon()).toBe(true)
    for (const { purchase, isCancelled } of ends) await (isCancelled ? expectWithdrawn(purchase) : expectSold(purchase))
  })

  it('a part of a payment is cancelled when the invoice expires without the other part', async () => {
    const { purchase, part } = partly
    await getEnvironment().waitForStatus(purchase, 'BUYER_FAILED_TO_PAY')
    await expectPartCancelled(purchase, part)
  })

  it('the payment is cancelled if the buyer’s node rejects the channel, and no seller is paid', async () => {
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL, 'picky')
    await getEnvironment().payUntilHeld(purchase)
    await expectCancelled(purchase, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(agent.getOutput()).toMatch(/peer-refused/)
  })

  it('the payment is cancelled if the buyer’s node is unreachable after it has paid', async () => {
    await agent.kill()
    const purchase = await getEnvironment().buy(PRIVATE_CHANNEL)
    await getEnvironment().payUntilHeld(purchase)
    await getEnvironment().waitForStatus(purchase, 'WAITING_FOR_CHANNEL_OPEN')
    await runWithoutNode(getEnvironment().servers, 'buyer', async () => {
      agent = start()
      await getEnvironment().waitForStatus(purchase, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    })
    await expectCancelled(purchase, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('an expired invoice accepts no payment, although the payer bypasses the check of its own node', async () => {
    await getEnvironment().waitForStatus(lateOrder, 'BUYER_FAILED_TO_PAY')
    expect(await sendPaymentPart(node('buyer'), lateOrder.invoice, { msat: PRICE_MSAT, totalMsat: PRICE_MSAT })).toBe(
      'UnknownPaymentHash',
    )
    expect((await getEnvironment().readOrder(lateOrder)).status).toBe('BUYER_FAILED_TO_PAY')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await getEnvironment().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
