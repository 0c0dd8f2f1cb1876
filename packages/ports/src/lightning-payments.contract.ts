import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, it } from 'vitest'
import type { Invoice, Lightning, PaymentState } from './lightning.ts'
import { type Here, type LightningWorld, secret } from './lightning-world.contract.ts'
import { until } from './waiting.contract.ts'

export const AMOUNT_MSAT = 25_000_000n
export const PATIENCE = { maxFeeMsat: 100_000n, timeoutMs: 500 }
/** For what ends by itself, as soon as it does. */
const TO_THE_END = { ...PATIENCE, timeoutMs: 10_000 }

export async function newHold(
  world: LightningWorld,
  change: { cltvDelta?: number; expirySeconds?: number } = {},
): Promise<{ preimage: string; invoice: Invoice }> {
  const { preimage, paymentHash } = secret()
  const invoice = await world.market.lightning.holds.create({
    paymentHash,
    amountMsat: AMOUNT_MSAT,
    cltvDelta: 40,
    expirySeconds: 3600,
    description: 'an order',
    ...change,
  })
  return { preimage, invoice }
}

async function heldHold(
  world: LightningWorld,
  change: { cltvDelta?: number } = {},
): Promise<{ preimage: string; invoice: Invoice }> {
  const hold = await newHold(world, change)
  expect(await world.buyer.lightning.payments.pay(hold.invoice.request, PATIENCE)).toEqual({ state: 'in-flight' })
  const invoice = await until('the invoice is held', async () => {
    const now = await world.market.lightning.holds.find(hold.invoice.paymentHash)
    return now?.state === 'held' && now
  })
  return { ...hold, invoice }
}

export function holding({ world }: Here): void {
  describe('hold invoices', () => {
    it('makes an invoice once: the same hash again gives what is there', async () => {
      const { invoice } = await newHold(world())
      expect(invoice).toMatchObject({ amountMsat: AMOUNT_MSAT, state: 'open', htlcs: [] })
      expect(invoice.request).toMatch(/^lnbcrt/)
      const { holds } = world().market.lightning
      const again = await holds.create({
        paymentHash: invoice.paymentHash,
        amountMsat: 1000n,
        cltvDelta: 80,
        expirySeconds: 60,
        description: 'other',
      })
      expect(again.request).toBe(invoice.request)
      expect(await holds.find(invoice.paymentHash)).toEqual(invoice)
      expect(await holds.find(secret().paymentHash)).toBeUndefined()
    })

    it('holds a payment until it is settled, and answers second calls', async () => {
      const { market, buyer } = world()
      const { holds } = market.lightning
      const { preimage, invoice } = await heldHold(world())
      const [htlc] = invoice.htlcs
      const { pubkey: peer } = await buyer.lightning.info()
      expect(invoice.htlcs).toEqual([
        { amountMsat: AMOUNT_MSAT, expiryHeight: htlc?.expiryHeight, peer, state: 'held', acceptedAt: htlc?.acceptedAt },
      ])
      // Payers add three blocks, lest one found meanwhile makes it too short.
      expect(htlc?.expiryHeight).toBe((await market.lightning.info()).height + 40 + 3)
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).toContain(invoice.paymentHash)
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual({ state: 'in-flight' })

      expect(await holds.settle(preimage)).toBe('settled')
      expect(await holds.settle(preimage)).toBe('already-settled')
      expect(await holds.cancel(invoice.paymentHash)).toBe('settled')
      const paid = { state: 'succeeded', preimage, feeMsat: 0n }
      await until(
        'the payer knows',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'succeeded',
      )
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual(paid)
      expect(await buyer.lightning.payments.pay(invoice.request, TO_THE_END)).toEqual(paid)
      await until('the node shows every HTLC settled', async () => {
        const now = await holds.find(invoice.paymentHash)
        return now?.state === 'settled' && now.htlcs.every(({ state }) => state === 'settled')
      })
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).not.toContain(invoice.paymentHash)
    })

    it('gives everything back when it is cancelled', async () => {
      const { market, buyer } = world()
      const { holds } = market.lightning
      const before = await buyer.lightning.wallet.localSat()
      const { preimage, invoice } = await heldHold(world())
      expect(await buyer.lightning.wallet.localSat()).toBeLessThan(before)
      expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
      expect(await holds.cancel(invoice.paymentHash)).toBe('already-cancelled')
      expect(await holds.settle(preimage)).toBe('cancelled')
      await until(
        'the payment failed',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed',
      )
      // Or a little more: a payment before it may still have cost its place in the channel then.
      await until('the money is back', async () => (await buyer.lightning.wallet.localSat()) >= before)
      expect(await buyer.lightning.payments.pay(invoice.request, TO_THE_END)).toMatchObject({ state: 'failed' })
      expect((await holds.find(invoice.paymentHash))?.state).toBe('cancelled')
    })

    it('tells an unpaid invoice from one that it never made', async () => {
      const { holds } = world().market.lightning
      const { preimage, invoice } = await newHold(world())
      expect(await holds.settle(preimage)).toBe('not-held')
      expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
      expect(await holds.settle(secret().preimage)).toBe('unknown')
      expect(await holds.cancel(secret().paymentHash)).toBe('unknown')
    })

    it('takes more than it asked for, in full and once, and nothing that is less', async () => {
      const { market, buyer, send } = world()
      const { preimage, invoice } = await newHold(world())
      const state = async () => (await market.lightning.holds.find(invoice.paymentHash))?.state
      void send(invoice.request, AMOUNT_MSAT - 1000n, AMOUNT_MSAT - 1000n)
      const { payments } = buyer.lightning
      await until('less is refused', async () => (await payments.find(invoice.paymentHash))?.state === 'failed')
      expect(await state()).toBe('open')
      const amountMsat = AMOUNT_MSAT * 3n
      void send(invoice.request, amountMsat, amountMsat)
      await until('it is held', async () => (await state()) === 'held')
      expect(await market.lightning.holds.find(invoice.paymentHash)).toMatchObject({
        amountMsat: AMOUNT_MSAT,
        htlcs: [{ amountMsat, state: 'held' }],
      })
      expect(await market.lightning.holds.settle(preimage)).toBe('settled')
      await until('the payer knows', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
    })

    it('takes nothing from a second payer, while it holds the payment of the first or after it took that', async () => {
      const { market, seller } = world()
      // So that it could: more than it has to keep in its channel.
      const reserveSat = (await seller.lightning.channels.list()).reduce((sum, channel) => sum + channel.reserveSat, 0n)
      const purse = { amountMsat: reserveSat * 1000n + 2n * AMOUNT_MSAT, expirySeconds: 3600, description: 'to be passed on' }
      const { request } = await seller.lightning.payments.createInvoice(purse)
      expect(await market.lightning.payments.pay(request, TO_THE_END)).toMatchObject({
        state: 'succeeded',
      })
      // The payer knows before the payee can pass it on.
      const enough = reserveSat + (2n * AMOUNT_MSAT) / 1000n
      await until('it can', async () => (await seller.lightning.wallet.localSat()) >= enough)
      const { preimage, invoice } = await heldHold(world())
      const second = () => seller.lightning.payments.pay(invoice.request, TO_THE_END)
      const refused = { state: 'failed', reason: 'rejected-by-destination' }
      expect(await second()).toEqual(refused)
      expect(await market.lightning.holds.find(invoice.paymentHash)).toEqual(invoice)
      expect(await market.lightning.holds.settle(preimage)).toBe('settled')
      expect(await second()).toEqual(refused)
      expect((await market.lightning.holds.find(invoice.paymentHash))?.htlcs).toHaveLength(1)
    })

    it('takes a payment in parts: held when all are there, each with an end of its own', async () => {
      const { market, buyer, send, mine } = world()
      const { holds } = market.lightning
      const { preimage, invoice } = await newHold(world())
      const half = AMOUNT_MSAT / 2n
      void send(invoice.request, half, AMOUNT_MSAT)
      const waits = async () => (await holds.find(invoice.paymentHash))?.htlcs.length === 1
      await until('the first part waits', waits)
      expect(await holds.find(invoice.paymentHash)).toMatchObject({ state: 'open', htlcs: [{ amountMsat: half, state: 'held' }] })
      expect((await holds.held()).map(({ paymentHash }) => paymentHash)).not.toContain(invoice.paymentHash)
      expect(await holds.settle(preimage)).toBe('not-held')
      await mine(2)
      void send(invoice.request, half, AMOUNT_MSAT)
      await until('it is held', async () => (await holds.find(invoice.paymentHash))?.state === 'held')
      const { htlcs = [] } = (await holds.find(invoice.paymentHash)) ?? {}
      expect(htlcs.map(({ amountMsat }) => amountMsat)).toEqual([half, half])
      const [low = 0, high = 0] = htlcs.map(({ expiryHeight }) => expiryHeight).toSorted((a, b) => a - b)
      expect(high).toBe(low + 2)
      expect(await holds.settle(preimage)).toBe('settled')
      const { payments } = buyer.lightning
      await until('the payer knows', async () => (await payments.find(invoice.paymentHash))?.state === 'succeeded')
      const states = async () => (await holds.find(invoice.paymentHash))?.htlcs.map(({ state }) => state)
      await until('every part is settled', async () => (await states())?.every((state) => state === 'settled'))
    })

    it('tells of changes, the present state first', async () => {
      const { market, buyer } = world()
      const { preimage, invoice } = await newHold(world())
      const stop = new AbortController()
      const seen: string[] = []
      const listening = (async () => {
        for await (const { state } of market.lightning.holds.changes(invoice.paymentHash, stop.signal))
          if (seen.at(-1) !== state) seen.push(state)
      })()
      await until('the present state', async () => seen.length > 0)
      await buyer.lightning.payments.pay(invoice.request, PATIENCE)
      await until('held', async () => seen.includes('held'))
      await market.lightning.holds.settle(preimage)
      await until('settled', async () => seen.includes('settled'))
      stop.abort()
      await listening
      expect(seen).toEqual(['open', 'held', 'settled'])
    })

    it('is cancelled by the node when nobody paid in time', async () => {
      const { market, buyer } = world()
      const { preimage, invoice } = await newHold(world(), { expirySeconds: 1 })
      await until('it is cancelled', async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled')
      expect(await market.lightning.holds.cancel(invoice.paymentHash)).toBe('already-cancelled')
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      expect(await buyer.lightning.payments.pay(invoice.request, TO_THE_END)).toEqual({
        state: 'failed',
        reason: 'invoice-expired',
      })
      // Nothing was sent, so nothing is remembered.
      expect(await buyer.lightning.payments.find(invoice.paymentHash)).toBeUndefined()
    })
  })
}

export function ending({ world }: Here): void {
  describe('the end of a held HTLC', () => {
    it('is cancelled by the node itself so many blocks before, as it says', async () => {
      const { market, buyer, mine } = world()
      const { holdExpiryDelta, height } = await market.lightning.info()
      if (holdExpiryDelta === null) return
      const { preimage, invoice } = await heldHold(world(), { cltvDelta: 30 })
      const last = (invoice.htlcs[0]?.expiryHeight ?? 0) - holdExpiryDelta
      await mine(last - height - 1)
      expect((await market.lightning.holds.find(invoice.paymentHash))?.state).toBe('held')
      await mine(1)
      await until('it is cancelled', async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled')
      await until(
        'the payment failed',
        async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed',
      )
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      expect((await market.lightning.holds.find(invoice.paymentHash))?.htlcs).toMatchObject([{ state: 'cancelled' }])
    })
  })
}

export function absent({ world }: Here): void {
  describe('a node that was away over the end of a held HTLC', () => {
    it('gives up the invoice when it is back, settles it no more, and the payer has its money', async () => {
      const { market, buyer, mine, away } = world()
      const { preimage, invoice } = await heldHold(world(), { cltvDelta: 30 })
      const { height } = await buyer.lightning.info()
      await away((invoice.htlcs[0]?.expiryHeight ?? 0) - height)
      await mine(1)
      await until('it is cancelled', async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled')
      expect(await market.lightning.holds.settle(preimage)).toBe('cancelled')
      // A real channel is closed for it, and resolved on the chain.
      await until('the payment failed', async () => {
        await mine(1)
        return (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed'
      })
    })
  })
}

const reasonOf = (outcome: PaymentState): string => (outcome.state === 'failed' ? outcome.reason : outcome.state)

export function paying({ world }: Here): void {
  describe('payments', () => {
    const bill = (lightning: Lightning) =>
      lightning.payments.createInvoice({ amountMsat: 4_000_000n, expirySeconds: 3600, description: 'a payout' })

    it('pays an invoice, finds it by its hash, and never pays it twice', async () => {
      const { market, seller } = world()
      const { request, paymentHash } = await bill(seller.lightning)
      expect(await market.lightning.payments.find(paymentHash)).toBeUndefined()
      const [one, two] = await Promise.all([
        market.lightning.payments.pay(request, TO_THE_END),
        market.lightning.payments.pay(request, TO_THE_END),
      ])
      expect(one).toMatchObject({ state: 'succeeded', feeMsat: 0n })
      expect(two).toEqual(one)
      expect(await market.lightning.payments.find(paymentHash)).toEqual(one)
      const invoice = await seller.lightning.payments.findInvoice(paymentHash)
      expect(invoice?.state).toBe('settled')
      expect(invoice?.htlcs).toHaveLength(1)
    })

    it('sends nothing after the instant that it is given, and goes on to answer what it sent before', async () => {
      const { market, buyer } = world()
      const { request, paymentHash } = await bill(market.lightning)
      const { payments } = buyer.lightning
      const before = await market.lightning.wallet.localSat()
      const tooLate = { ...TO_THE_END, notAfter: 0 }
      await expect(payments.pay(request, tooLate)).rejects.toThrow(Fault)
      expect(await payments.find(paymentHash)).toBeUndefined()
      const paid = await payments.pay(request, { ...tooLate, notAfter: Number.MAX_SAFE_INTEGER })
      expect(paid).toMatchObject({ state: 'succeeded' })
      expect(await payments.pay(request, tooLate)).toEqual(paid)
      await until('the payee has it', async () => (await market.lightning.wallet.localSat()) > before)
    })

    it('pays over another node, within its fee limit only', async () => {
      const { buyer, seller } = world()
      const { wallet } = seller.lightning
      await until('the payee has the payment before', async () => (await wallet.localSat()) > 0n)
      const before = await wallet.localSat()
      const { request } = await bill(seller.lightning)
      expect(reasonOf(await buyer.lightning.payments.pay(request, { maxFeeMsat: 0n, timeoutMs: 10_000 }))).toMatch(
        /^(fee-limit|no-route)$/,
      )
      const paid = await buyer.lightning.payments.pay(request, TO_THE_END)
      expect(paid.state === 'succeeded' && paid.feeMsat > 0n).toBe(true)
      // A moment after the payer knows.
      await until('the payee has it', async () => (await wallet.localSat()) === before + 4000n)
    })

    it('fails without the money for it, and moves nothing', async () => {
      const { seller, market } = world()
      const before = await seller.lightning.wallet.localSat()
      const amountMsat = (before + 1_000_000n) * 1000n
      const { request, paymentHash } = await market.lightning.payments.createInvoice({
        amountMsat,
        expirySeconds: 3600,
        description: 'too much',
      })
      const outcome = await seller.lightning.payments.pay(request, TO_THE_END)
      expect(reasonOf(outcome)).toMatch(/^(insufficient-balance|no-route)$/)
      const found = await seller.lightning.payments.find(paymentHash)
      // A node need not name the same of the two both times: lnd does not always.
      expect(found && reasonOf(found)).toMatch(/^(insufficient-balance|no-route)$/)
      expect(await seller.lightning.wallet.localSat()).toBe(before)
    })

    it('is refused by the payee after its invoice was cancelled', async () => {
      const { market, buyer } = world()
      const { invoice } = await newHold(world())
      await market.lightning.holds.cancel(invoice.paymentHash)
      expect(await buyer.lightning.payments.pay(invoice.request, TO_THE_END)).toEqual({
        state: 'failed',
        reason: 'rejected-by-destination',
      })
    })
  })
}
