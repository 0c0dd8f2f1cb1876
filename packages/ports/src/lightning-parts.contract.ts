import { describe, expect, it } from 'vitest'
import type { Invoice, Lightning } from './lightning.ts'
import { AMOUNT_MSAT, createHold, payHold } from './lightning-payments.contract.ts'
import type { SuiteContext, LightningFixture } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

/** lnd holds a part for this time while other parts are missing. */
const PART_HOLD_MS = 120_000
const MARGIN_MS = 10_000
const HALF_MSAT = AMOUNT_MSAT / 2n
/** More blocks than the suite mines. */
const CLTV_DELTA = 1000

type StartedParts = { readonly whole: Hold; readonly part: Hold; readonly at: number }
type Hold = { readonly preimage: string; readonly invoice: Invoice }

const findInvoice = ({ holds }: Lightning, { invoice }: Hold): Promise<Invoice | undefined> => holds.find(invoice.paymentHash)

async function sendHalves({ market, send }: LightningFixture, hold: Hold, count: number): Promise<void> {
  for (let sent = 1; sent <= count; sent++) {
    void send(hold.invoice.request, HALF_MSAT, AMOUNT_MSAT)
    await waitForValue('the part has arrived', async () => (await findInvoice(market.lightning, hold))?.htlcs.length === sent)
  }
}

/** Two cases: `end` checks the payments that `begin` started. Real nodes need two minutes, so other cases run between them. */
export function testPaymentParts({ fixture }: SuiteContext): { readonly begin: () => void; readonly end: () => void } {
  let startedParts: StartedParts | undefined

  const begin = (): void =>
    void describe('parts of a payment', () => {
      it('wait for the missing amount, and are held once it is complete', async () => {
        const { market, now = Date.now } = fixture()
        const whole = await createHold(fixture(), { cltvDelta: CLTV_DELTA })
        await sendHalves(fixture(), whole, 2)
        await waitForValue('it is held', async () => (await findInvoice(market.lightning, whole))?.state === 'held')
        const part = await createHold(fixture(), { cltvDelta: CLTV_DELTA })
        await sendHalves(fixture(), part, 1)
        expect(await findInvoice(market.lightning, part)).toMatchObject({
          state: 'open',
          htlcs: [{ amountMsat: HALF_MSAT, state: 'held' }],
        })
        startedParts = { whole, part, at: now() }
      })
    })

  const end = (): void =>
    void describe('two minutes later', () => {
      it('a lone part is cancelled, a whole payment stays, and the open invoice can be paid', { timeout: 200_000 }, async () => {
        if (!startedParts) throw new Error('the first case did not run')
        const { market, buyer, pass: advanceTime, now = Date.now } = fixture()
        const { holds } = market.lightning
        const { payments } = buyer.lightning
        const { part, whole, at } = startedParts
        const leftMs = PART_HOLD_MS - (now() - at)
        // If the other cases took less than PART_HOLD_MS, this checks that the part is still held shortly before the limit.
        await advanceTime(Math.max(0, leftMs - MARGIN_MS))
        const early = leftMs > MARGIN_MS ? await findInvoice(market.lightning, part) : undefined
        expect(early?.htlcs[0]?.state ?? 'held').toBe('held')
        await advanceTime(Math.max(0, Math.min(leftMs, MARGIN_MS)))
        await waitForValue(
          'the part is cancelled',
          async () => (await findInvoice(market.lightning, part))?.htlcs[0]?.state !== 'held',
        )
        expect(await findInvoice(market.lightning, part)).toMatchObject({ state: 'open', htlcs: [{ state: 'cancelled' }] })
        await waitForValue('the payment failed', async () => (await payments.find(part.invoice.paymentHash))?.state === 'failed')
        expect(await payments.find(part.invoice.paymentHash)).toEqual({ state: 'failed', reason: 'no-route' })
        expect(await findInvoice(market.lightning, whole)).toMatchObject({
          state: 'held',
          htlcs: [{ state: 'held' }, { state: 'held' }],
        })
        expect(await holds.settle(whole.preimage)).toBe('settled')

        expect(await payHold(fixture(), part.invoice.request)).toEqual({ state: 'in-flight' })
        await waitForValue('it is held', async () => (await findInvoice(market.lightning, part))?.state === 'held')
        const states = async () => (await findInvoice(market.lightning, part))?.htlcs.map(({ state }) => state).toSorted()
        expect(await states()).toEqual(['cancelled', 'held'])
        expect(await holds.settle(part.preimage)).toBe('settled')
        await waitForValue('it shows as settled', async () => (await states())?.join() === 'cancelled,settled')
        for (const { invoice } of [part, whole])
          await waitForValue('payment succeeded', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
      })
    })

  return { begin, end }
}
