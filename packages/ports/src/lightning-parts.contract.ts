import { describe, expect, it } from 'vitest'
import type { Invoice, Lightning } from './lightning.ts'
import { AMOUNT_MSAT, newHold, PATIENCE } from './lightning-payments.contract.ts'
import type { Here, LightningWorld } from './lightning-world.contract.ts'
import { until } from './waiting.contract.ts'

/** lnd keeps a part for so long while the others do not come. */
const PART_HOLD_MS = 120_000
const MARGIN_MS = 10_000
const HALF_MSAT = AMOUNT_MSAT / 2n
/** More blocks than the suite makes. */
const CLTV_DELTA = 1000

type Begun = { readonly whole: Hold; readonly part: Hold; readonly at: number }
type Hold = { readonly preimage: string; readonly invoice: Invoice }

const present = ({ holds }: Lightning, { invoice }: Hold): Promise<Invoice | undefined> => holds.find(invoice.paymentHash)

async function sendHalves({ market, send }: LightningWorld, hold: Hold, count: number): Promise<void> {
  for (let sent = 1; sent <= count; sent++) {
    void send(hold.invoice.request, HALF_MSAT, AMOUNT_MSAT)
    await until('the part is there', async () => (await present(market.lightning, hold))?.htlcs.length === sent)
  }
}

/** Two cases of which the second is about what the first began: on real nodes two minutes are between them, so others are too. */
export function parting({ world }: Here): { readonly begin: () => void; readonly end: () => void } {
  let begun: Begun | undefined

  const begin = (): void =>
    void describe('parts of payments, of which', () => {
      it('one waits for the rest, and two make it up', async () => {
        const { market } = world()
        const whole = await newHold(world(), { cltvDelta: CLTV_DELTA })
        await sendHalves(world(), whole, 2)
        await until('it is held', async () => (await present(market.lightning, whole))?.state === 'held')
        const part = await newHold(world(), { cltvDelta: CLTV_DELTA })
        await sendHalves(world(), part, 1)
        expect(await present(market.lightning, part)).toMatchObject({
          state: 'open',
          htlcs: [{ amountMsat: HALF_MSAT, state: 'held' }],
        })
        begun = { whole, part, at: Date.now() }
      })
    })

  const end = (): void =>
    void describe('two minutes after that', () => {
      it('what waits alone goes back, what is whole stays, and the open invoice can be paid', { timeout: 200_000 }, async () => {
        if (!begun) throw new Error('nothing was begun')
        const { market, buyer, pass } = world()
        const { holds } = market.lightning
        const { payments } = buyer.lightning
        const { part, whole, at } = begun
        const leftMs = PART_HOLD_MS - (Date.now() - at)
        // Where the other cases took less time than that, it is seen that it waits so long.
        await pass(Math.max(0, leftMs - MARGIN_MS))
        const early = leftMs > MARGIN_MS ? await present(market.lightning, part) : undefined
        expect(early?.htlcs[0]?.state ?? 'held').toBe('held')
        await pass(Math.max(0, Math.min(leftMs, MARGIN_MS)))
        await until('the part is given back', async () => (await present(market.lightning, part))?.htlcs[0]?.state !== 'held')
        expect(await present(market.lightning, part)).toMatchObject({ state: 'open', htlcs: [{ state: 'cancelled' }] })
        await until('its payer knows', async () => (await payments.find(part.invoice.paymentHash))?.state === 'failed')
        expect(await payments.find(part.invoice.paymentHash)).toEqual({ state: 'failed', reason: 'no-route' })
        expect(await present(market.lightning, whole)).toMatchObject({
          state: 'held',
          htlcs: [{ state: 'held' }, { state: 'held' }],
        })
        expect(await holds.settle(whole.preimage)).toBe('settled')

        expect(await payments.pay(part.invoice.request, PATIENCE)).toEqual({ state: 'in-flight' })
        await until('it is held', async () => (await present(market.lightning, part))?.state === 'held')
        const states = async () => (await present(market.lightning, part))?.htlcs.map(({ state }) => state).toSorted()
        expect(await states()).toEqual(['cancelled', 'held'])
        expect(await holds.settle(part.preimage)).toBe('settled')
        await until('it shows as settled', async () => (await states())?.join() === 'cancelled,settled')
        for (const { invoice } of [part, whole])
          await until('the payer knows', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
      })
    })

  return { begin, end }
}
