import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, it } from 'vitest'
import type { Invoice, Lightning, PaymentState } from './lightning.ts'
import { type SuiteContext, type LightningFixture, createSecret } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

export const AMOUNT_MSAT = 25_000_000n
const SHORT_TIMEOUT = { maxFeeMsat: 100_000n, timeoutMs: 500 }
const STEP_MS = 50
/** For payments that end by themselves, usually long before this timeout. */
const LONG_TIMEOUT = { ...SHORT_TIMEOUT, timeoutMs: 10_000 }

export async function createHold(
  fixture: LightningFixture,
  change: { cltvDelta?: number; expirySeconds?: number } = {},
): Promise<{ preimage: string; invoice: Invoice }> {
  const { preimage, paymentHash } = createSecret()
  const invoice = await fixture.market.lightning.holds.create({
    paymentHash,
    amountMsat: AMOUNT_MSAT,
    cltvDelta: 40,
    expirySeconds: 3600,
    description: 'an order',
    ...change,
  })
  return { preimage, invoice }
}

/** Pays a hold invoice from the buyer's node, and lets the time of the nodes pass until the call returns. */
export async function payHold({ buyer, pass }: LightningFixture, request: string): Promise<PaymentState> {
  const payment = buyer.lightning.payments.pay(request, SHORT_TIMEOUT)
  let hasReturned = false
  const recordReturn = (): void => void (hasReturned = true)
  payment.then(recordReturn, recordReturn)
  await waitForValue('the call returns', async () => {
    if (!hasReturned) await pass(STEP_MS)
    return hasReturned
  })
  return payment
}

async function createPaidHold(
  fixture: LightningFixture,
  change: { cltvDelta?: number } = {},
): Promise<{ preimage: string; invoice: Invoice }> {
  const hold = await createHold(fixture, change)
  expect(await payHold(fixture, hold.invoice.request)).toEqual({ state: 'in-flight' })
  const invoice = await waitForValue('the invoice is held', async () => {
    const now = await fixture.market.lightning.holds.find(hold.invoice.paymentHash)
    return now?.state === 'held' && now
  })
  return { ...hold, invoice }
}

export function testHolds({ fixture }: SuiteContext): void {
  describe('hold invoices', () => {
    it('are created once, and a second call with the hash returns the existing invoice', async () => {
      const { invoice } = await createHold(fixture())
      expect(invoice).toMatchObject({ amountMsat: AMOUNT_MSAT, state: 'open', htlcs: [] })
      expect(invoice.request).toMatch(/^lnbcrt/)
      const { holds } = fixture().market.lightning
      const second = await holds.create({
        paymentHash: invoice.paymentHash,
        amountMsat: 1000n,
        cltvDelta: 80,
        expirySeconds: 60,
        description: 'other',
      })
      expect(second.request).toBe(invoice.request)
      expect(await holds.find(invoice.paymentHash)).toEqual(invoice)
      expect(await holds.find(createSecret().paymentHash)).toBeUndefined()
    })

    it('hold a payment until it is settled, and answer repeated calls', async () => {
      const { market, buyer } = fixture()
      const { holds } = market.lightning
      const { preimage, invoice } = await createPaidHold(fixture())
      const [htlc] = invoice.htlcs
      const { pubkey: peer } = await buyer.lightning.info()
      expect(invoice.htlcs).toEqual([
        { amountMsat: AMOUNT_MSAT, expiryHeight: htlc?.expiryHeight, peer, state: 'held', acceptedAt: htlc?.acceptedAt },
      ])
      // Payers add three blocks, since a block found meanwhile would make the delta too short.
      expect(htlc?.expiryHeight).toBe((await market.lightning.info()).height + 40 + 3)
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).toContain(invoice.paymentHash)
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual({ state: 'in-flight' })

      expect(await holds.settle(preimage)).toBe('settled')
      expect(await holds.settle(preimage)).toBe('already-settled')
      expect(await holds.cancel(invoice.paymentHash)).toBe('settled')
      const paid = { state: 'succeeded', preimage, feeMsat: 0n }
      await waitForValue(
        'the payment succeeded',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'succeeded',
      )
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual(paid)
      expect(await buyer.lightning.payments.pay(invoice.request, LONG_TIMEOUT)).toEqual(paid)
      await waitForValue('the node shows every HTLC settled', async () => {
        const now = await holds.find(invoice.paymentHash)
        return now?.state === 'settled' && now.htlcs.every(({ state }) => state === 'settled')
      })
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).not.toContain(invoice.paymentHash)
    })

    it('return the whole payment when they are cancelled', async () => {
      const { market, buyer } = fixture()
      const { holds } = market.lightning
      const before = await buyer.lightning.wallet.localSat()
      const { preimage, invoice } = await createPaidHold(fixture())
      expect(await buyer.lightning.wallet.localSat()).toBeLessThan(before)
      expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
      expect(await holds.cancel(invoice.paymentHash)).toBe('already-cancelled')
      expect(await holds.settle(preimage)).toBe('cancelled')
      await waitForValue(
        'the payment failed',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed',
      )
      // The balance may be a little higher: at `before`, an earlier payment may still have occupied the channel.
      await waitForValue('the money is back', async () => (await buyer.lightning.wallet.localSat()) >= before)
      expect(await buyer.lightning.payments.pay(invoice.request, LONG_TIMEOUT)).toMatchObject({ state: 'failed' })
      expect((await holds.find(invoice.paymentHash))?.state).toBe('cancelled')
    })

    it('distinguish an unpaid invoice from an unknown payment hash', async () => {
      const { holds } = fixture().market.lightning
      const { preimage, invoice } = await createHold(fixture())
      expect(await holds.settle(preimage)).toBe('not-held')
      expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
      expect(await holds.settle(createSecret().preimage)).toBe('unknown')
      expect(await holds.cancel(createSecret().paymentHash)).toBe('unknown')
    })

    it('accept an overpayment once and in full, and refuse an underpayment', async () => {
      const { market, buyer, send } = fixture()
      const { preimage, invoice } = await createHold(fixture())
      const state = async () => (await market.lightning.holds.find(invoice.paymentHash))?.state
      void send(invoice.request, AMOUNT_MSAT - 1000n, AMOUNT_MSAT - 1000n)
      const { payments } = buyer.lightning
      await waitForValue('underpayment is refused', async () => (await payments.find(invoice.paymentHash))?.state === 'failed')
      expect(await state()).toBe('open')
      const amountMsat = AMOUNT_MSAT * 3n
      void send(invoice.request, amountMsat, amountMsat)
      await waitForValue('it is held', async () => (await state()) === 'held')
      expect(await market.lightning.holds.find(invoice.paymentHash)).toMatchObject({
        amountMsat: AMOUNT_MSAT,
        htlcs: [{ amountMsat, state: 'held' }],
      })
      expect(await market.lightning.holds.settle(preimage)).toBe('settled')
      await waitForValue('the payment succeeded', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
    })

    it('refuse a second payer while the first payment is held, and after it is settled', async () => {
      const { market, seller } = fixture()
      // The seller gets more than its channel reserve, so that it can pay.
      const reserveSat = (await seller.lightning.channels.list()).reduce((sum, channel) => sum + channel.reserveSat, 0n)
      const deposit = { amountMsat: reserveSat * 1000n + 2n * AMOUNT_MSAT, expirySeconds: 3600, description: 'to be passed on' }
      const { request } = await seller.lightning.payments.createInvoice(deposit)
      expect(await market.lightning.payments.pay(request, LONG_TIMEOUT)).toMatchObject({
        state: 'succeeded',
      })
      // The payer learns of the success before the payee can spend the amount.
      const enough = reserveSat + (2n * AMOUNT_MSAT) / 1000n
      await waitForValue('the seller can pay', async () => (await seller.lightning.wallet.localSat()) >= enough)
      const { preimage, invoice } = await createPaidHold(fixture())
      const second = () => seller.lightning.payments.pay(invoice.request, LONG_TIMEOUT)
      const refused = { state: 'failed', reason: 'rejected-by-destination' }
      expect(await second()).toEqual(refused)
      expect(await market.lightning.holds.find(invoice.paymentHash)).toEqual(invoice)
      expect(await market.lightning.holds.settle(preimage)).toBe('settled')
      expect(await second()).toEqual(refused)
      expect((await market.lightning.holds.find(invoice.paymentHash))?.htlcs).toHaveLength(1)
    })

    it('hold a multi-part payment once all parts have arrived, each with its own expiry height', async () => {
      const { market, buyer, send, mine } = fixture()
      const { holds } = market.lightning
      const { preimage, invoice } = await createHold(fixture())
      const half = AMOUNT_MSAT / 2n
      void send(invoice.request, half, AMOUNT_MSAT)
      const hasFirstPart = async () => (await holds.find(invoice.paymentHash))?.htlcs.length === 1
      await waitForValue('the first part waits', hasFirstPart)
      expect(await holds.find(invoice.paymentHash)).toMatchObject({ state: 'open', htlcs: [{ amountMsat: half, state: 'held' }] })
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).not.toContain(invoice.paymentHash)
      expect(await holds.settle(preimage)).toBe('not-held')
      await mine(2)
      void send(invoice.request, half, AMOUNT_MSAT)
      await waitForValue('it is held', async () => (await holds.find(invoice.paymentHash))?.state === 'held')
      const { htlcs = [] } = (await holds.find(invoice.paymentHash)) ?? {}
      expect(htlcs.map(({ amountMsat }) => amountMsat)).toEqual([half, half])
      const [low = 0, high = 0] = htlcs.map(({ expiryHeight }) => expiryHeight).toSorted((a, b) => a - b)
      expect(high).toBe(low + 2)
      expect(await holds.settle(preimage)).toBe('settled')
      const { payments } = buyer.lightning
      await waitForValue('the payment succeeded', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
      const states = async () => (await holds.find(invoice.paymentHash))?.htlcs.map(({ state }) => state)
      await waitForValue('every part is settled', async () => (await states())?.every((state) => state === 'settled'))
    })

    it('report changes, the present state first', async () => {
      const { market } = fixture()
      const { preimage, invoice } = await createHold(fixture())
      const stop = new AbortController()
      const seen: string[] = []
      const listening = (async () => {
        for await (const { state } of market.lightning.holds.changes(invoice.paymentHash, stop.signal))
          if (seen.at(-1) !== state) seen.push(state)
      })()
      await waitForValue('the present state', async () => seen.length > 0)
      await payHold(fixture(), invoice.request)
      await waitForValue('held', async () => seen.includes('held'))
      await market.lightning.holds.settle(preimage)
      await waitForValue('settled', async () => seen.includes('settled'))
      stop.abort()
      await listening
      expect(seen).toEqual(['open', 'held', 'settled'])
    })

    it('are cancelled by the node if no payment arrives before the expiry', async () => {
      const { market, buyer, pass } = fixture()
      const { preimage, invoice } = await createHold(fixture(), { expirySeconds: 1 })
      await waitForValue('it is cancelled', async () => {
        await pass(STEP_MS)
        return (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled'
      })
      expect(await market.lightning.holds.cancel(invoice.paymentHash)).toBe('already-cancelled')
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      expect(await buyer.lightning.payments.pay(invoice.request, LONG_TIMEOUT)).toEqual({
        state: 'failed',
        reason: 'invoice-expired',
      })
      // The payer sent no HTLC, so it has no record of the payment.
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toBeUndefined()
    })
  })
}

export function testHoldExpiry({ fixture }: SuiteContext): void {
  describe('a held invoice', () => {
    it('is cancelled by the node itself, `holdExpiryDelta` blocks before the expiry height', async () => {
      const { market, buyer, mine } = fixture()
      const { holdExpiryDelta, height } = await market.lightning.info()
      if (holdExpiryDelta === null) return
      const { preimage, invoice } = await createPaidHold(fixture(), { cltvDelta: 30 })
      const last = (invoice.htlcs[0]?.expiryHeight ?? 0) - holdExpiryDelta
      await mine(last - height - 1)
      expect((await market.lightning.holds.find(invoice.paymentHash))?.state).toBe('held')
      await mine(1)
      await waitForValue(
        'it is cancelled',
        async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled',
      )
      await waitForValue(
        'the payment failed',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed',
      )
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      expect((await market.lightning.holds.find(invoice.paymentHash))?.htlcs).toMatchObject([{ state: 'cancelled' }])
    })
  })
}

export function testAbsentNode({ fixture }: SuiteContext): void {
  describe('a node that was away when a held HTLC expired', () => {
    it('cancels the invoice after its return, cannot settle it, and the payer gets its money back', async () => {
      const { market, buyer, mine, away } = fixture()
      const { preimage, invoice } = await createPaidHold(fixture(), { cltvDelta: 30 })
      const { height } = await buyer.lightning.info()
      await away((invoice.htlcs[0]?.expiryHeight ?? 0) - height)
      await mine(1)
      await waitForValue(
        'it is cancelled',
        async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled',
      )
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      // A real node closes the channel, and the HTLC is resolved on the chain.
      await waitForValue('the payment failed', async () => {
        await mine(1)
        return (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed'
      })
    })
  })
}

const failureReason = (outcome: PaymentState): string => (outcome.state === 'failed' ? outcome.reason : outcome.state)

export function testPayments({ fixture }: SuiteContext): void {
  describe('payments', () => {
    const createPayoutInvoice = (lightning: Lightning) =>
      lightning.payments.createInvoice({ amountMsat: 4_000_000n, expirySeconds: 3600, description: 'a payout' })

    it('pay an invoice once, and are found by the payment hash', async () => {
      const { market, seller } = fixture()
      const { request, paymentHash } = await createPayoutInvoice(seller.lightning)
      expect(await market.lightning.payments.find(paymentHash)).toBeUndefined()
      const [one, two] = await Promise.all([
        market.lightning.payments.pay(request, LONG_TIMEOUT),
        market.lightning.payments.pay(request, LONG_TIMEOUT),
      ])
      expect(one).toMatchObject({ state: 'succeeded', feeMsat: 0n })
      expect(two).toEqual(one)
      expect(await market.lightning.payments.find(paymentHash)).toEqual(one)
      const invoice = await seller.lightning.payments.findInvoice(paymentHash)
      expect(invoice?.state).toBe('settled')
      expect(invoice?.htlcs).toHaveLength(1)
    })

    it('are not sent after `notAfter`, and an earlier payment is still returned', async () => {
      const { market, buyer } = fixture()
      const { request, paymentHash } = await createPayoutInvoice(market.lightning)
      const { payments } = buyer.lightning
      const before = await market.lightning.wallet.localSat()
      const expired = { ...LONG_TIMEOUT, notAfter: 0 }
      await expect(payments.pay(request, expired)).rejects.toThrow(Fault)
      expect(await payments.find(paymentHash)).toBeUndefined()
      const paid = await payments.pay(request, { ...expired, notAfter: Number.MAX_SAFE_INTEGER })
      expect(paid).toMatchObject({ state: 'succeeded' })
      expect(await payments.pay(request, expired)).toEqual(paid)
      await waitForValue('the payee has it', async () => (await market.lightning.wallet.localSat()) > before)
    })

    it('are forwarded by another node, only within the fee limit', async () => {
      const { buyer, seller } = fixture()
      const { wallet } = seller.lightning
      await waitForValue('the payee has the payment before', async () => (await wallet.localSat()) > 0n)
      const before = await wallet.localSat()
      const { request } = await createPayoutInvoice(seller.lightning)
      expect(failureReason(await buyer.lightning.payments.pay(request, { maxFeeMsat: 0n, timeoutMs: 10_000 }))).toMatch(
        /^(fee-limit|no-route)$/,
      )
      const paid = await buyer.lightning.payments.pay(request, LONG_TIMEOUT)
      expect(paid.state === 'succeeded' && paid.feeMsat > 0n).toBe(true)
      // The payee gets the amount a moment after the payer learns of the success.
      await waitForValue('the payee has it', async () => (await wallet.localSat()) === before + 4000n)
    })

    it('fail without a sufficient balance, and move nothing', async () => {
      const { seller, market } = fixture()
      const before = await seller.lightning.wallet.localSat()
      const amountMsat = (before + 1_000_000n) * 1000n
      const { request, paymentHash } = await market.lightning.payments.createInvoice({
        amountMsat,
        expirySeconds: 3600,
        description: 'too much',
      })
      const outcome = await seller.lightning.payments.pay(request, LONG_TIMEOUT)
      expect(failureReason(outcome)).toMatch(/^(insufficient-balance|no-route)$/)
      const found = await seller.lightning.payments.find(paymentHash)
      // A node may report either reason at each of the two reads, as lnd does.
      expect(found && failureReason(found)).toMatch(/^(insufficient-balance|no-route)$/)
      expect(await seller.lightning.wallet.localSat()).toBe(before)
    })

    it('are refused by the payee after the invoice was cancelled', async () => {
      const { market, buyer } = fixture()
      const { invoice } = await createHold(fixture())
      await market.lightning.holds.cancel(invoice.paymentHash)
      expect(await buyer.lightning.payments.pay(invoice.request, LONG_TIMEOUT)).toEqual({
        state: 'failed',
        reason: 'rejected-by-destination',
      })
    })
  })
}
