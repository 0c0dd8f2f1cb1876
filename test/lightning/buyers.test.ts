import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { type Agent, agentsOf } from './agents.ts'
import { type Deal, exchange } from './exchange.ts'
import { payInParts, sendPart } from './raw-payments.ts'
import { noLightning, withoutNode } from './servers.ts'

const PRICE_MSAT = 5_000_000n
/** Of a payment whose rest never comes. */
const PART = { msat: PRICE_MSAT / 2n, totalMsat: PRICE_MSAT }
/** A first guess of how long a payment takes; so many races are run, and more until each side has won. */
const [SOON_MS, RACES, MOST_RACES] = [64, 5, 12]
/** So that a probe proves each of them, whatever other channels the two have. */
const SECRET = { options: { private: true } }
const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'

/** What buyers and their nodes do with an invoice of the market. Every order ends, and the money is where it says. */
describe.skipIf(noLightning)('buyers', () => {
  const here = exchange({
    sellers: ['seller'],
    buyers: ['picky'],
    // It takes no channel of the size that is sold here.
    args: { picky: ['--minchansize=10000000'] },
    btcd: true,
    env: { PENSTOCK_INVOICE_EXPIRY_SECONDS: '40' },
  })
  let start: Awaited<ReturnType<typeof agentsOf>>
  let agent: Agent
  let late: Deal
  /** Bought and left alone, one of them with a part of its payment. */
  let partly: { readonly deal: Deal; readonly part: Promise<string> }
  beforeAll(async () => {
    start = await agentsOf(here(), 'seller', 3)
    agent = start()
    late = await here().deal(SECRET)
    const deal = await here().deal(SECRET)
    partly = { deal, part: sendPart(node('buyer'), deal.invoice, PART) }
    await partWaits(deal)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => here().servers.node(alias)
  const invoice = ({ paymentHash }: Deal) => here().lightning('market').holds.find(paymentHash)
  const isHeld = (deal: Deal) =>
    until('it is held', async () => {
      const now = await invoice(deal)
      return now?.state === 'held' && now
    })

  async function partWaits(deal: Deal): Promise<void> {
    await until('the first part waits', async () => (await invoice(deal))?.htlcs.length === 1)
    expect((await invoice(deal))?.state).toBe('open')
  }

  async function isSold(deal: Deal): Promise<string> {
    await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
    expect((await invoice(deal))?.state).toBe('settled')
    return here().told(deal)
  }

  async function isGivenBack(deal: Deal, status: string): Promise<void> {
    await here().reaches(deal, status)
    expect((await invoice(deal))?.state).toBe('cancelled')
    await here().payment(deal, 'failed')
  }

  async function isWithdrawn(deal: Deal): Promise<void> {
    await here().reaches(deal, 'BUYER_REJECTED')
    expect((await invoice(deal))?.state).toBe('cancelled')
    const payments = here().lightning('buyer').payments
    await until('nothing is on its way', async () => ((await payments.find(deal.paymentHash))?.state ?? 'failed') === 'failed')
  }

  /** The one part that came of a payment went back, and nothing was held, sold or written into the books. */
  async function isPartGivenBack(deal: Deal, part: Promise<string>): Promise<void> {
    expect(await part).toBe('UnknownPaymentHash')
    await here().payment(deal, 'failed')
    const { state, htlcs = [] } = (await invoice(deal)) ?? {}
    expect([state, htlcs.map((htlc) => [htlc.state, htlc.amountMsat])]).toEqual(['cancelled', [['cancelled', PART.msat]]])
    const held = await here().lightning('market').holds.held()
    expect(held.map(({ paymentHash }) => paymentHash)).not.toContain(deal.paymentHash)
    expect(await here().told(deal)).not.toMatch(/"(HoldHeld|PaymentHeld|HoldSettled|LedgerPosted|OpeningAsked)"/)
  }

  it('a payment that fails changes nothing; one in parts that come at different heights is one, and its first end counts', async () => {
    const deal = await here().deal(SECRET)
    // It has nothing on its side of any channel.
    const poor = here().lightning('seller').payments
    expect(await poor.pay(deal.invoice, { maxFeeMsat: 0n, timeoutMs: 5000 })).toMatchObject({ state: 'failed' })
    const first = sendPart(node('buyer'), deal.invoice, PART)
    await partWaits(deal)
    await here().servers.mine(2)
    const second = sendPart(node('buyer'), deal.invoice, PART)
    const { htlcs } = await isHeld(deal)
    const [low = 0, high = 0] = htlcs.map(({ expiryHeight }) => expiryHeight).toSorted((a, b) => a - b)
    expect(high).toBe(low + 2)
    const told = await isSold(deal)
    expect(told).toContain(`"expiryHeight":${low},"heldAtHeight"`)
    expect(await Promise.all([first, second])).toEqual(['paid', 'paid'])
  })

  it('lnd’s own parts are one payment too', async () => {
    const deal = await here().deal(SECRET)
    payInParts(node('buyer'), deal.invoice, 2_000_000n)
    expect((await isHeld(deal)).htlcs.length).toBeGreaterThan(2)
    expect(await isSold(deal)).toContain('"receivedMsat":"5000000"')
  })

  it('overpaid: taken as it came, and what is too much is in the books; far too much is lnd’s to refuse or to take', async () => {
    const [deal, twice] = [await here().deal(SECRET), await here().deal(SECRET)]
    const pay = (one: Deal, msat: bigint) => sendPart(node('buyer'), one.invoice, { msat, totalMsat: msat })
    const more = pay(deal, (PRICE_MSAT * 3n) / 2n)
    expect((await isHeld(deal)).htlcs.map(({ amountMsat }) => amountMsat)).toEqual([(PRICE_MSAT * 3n) / 2n])
    const far = pay(twice, PRICE_MSAT * 3n)
    await isHeld(twice)
    const told = await isSold(deal)
    expect(told).toContain('"receivedMsat":"7500000"')
    expect(told).toContain('overpayment')
    expect(await isSold(twice)).toContain('"receivedMsat":"15000000"')
    expect(await Promise.all([more, far])).toEqual(['paid', 'paid'])
  })

  it('paid twice: only the first is taken, while it is held and after it was settled', async () => {
    const deal = await here().deal(SECRET)
    await here().paid(deal)
    const again = () => sendPart(node('picky'), deal.invoice, { msat: PRICE_MSAT, totalMsat: PRICE_MSAT })
    expect(await again()).toBe('UnknownPaymentHash')
    expect((await isHeld(deal)).htlcs.filter(({ state }) => state === 'held').length).toBe(1)
    expect(await isSold(deal)).toContain('"receivedMsat":"5000000"')
    expect(await again()).toBe('UnknownPaymentHash')
    expect(await here().lightning('buyer').payments.pay(deal.invoice, { maxFeeMsat: 0n, timeoutMs: 5000 })).toMatchObject({
      state: 'succeeded',
    })
  })

  const cancel = async ({ id, key }: Deal): Promise<boolean> => {
    const input = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    return (await graphql(here().product.url, CANCEL, { input }, key)).errors === undefined
  }
  const pay = ({ invoice: request }: Deal, timeoutMs = 1000) =>
    here().lightning('buyer').payments.pay(request, { maxFeeMsat: 0n, timeoutMs })

  it('cancelled before it is paid: the payment finds nothing; paid first: it is too late to cancel', async () => {
    const [given, kept] = [await here().deal(SECRET), await here().deal(SECRET)]
    expect(await cancel(given)).toBe(true)
    expect(await pay(given, 5000)).toMatchObject({ state: 'failed' })
    await isWithdrawn(given)
    await here().paid(kept)
    await until('the market knows', async () => (await here().told(kept)).includes('"PaymentHeld"'))
    expect(await cancel(kept)).toBe(false)
    expect(await isSold(kept)).toContain('"receivedMsat":"5000000"')
  })

  it('cancelled when one part of its payment has come: the part goes back, and the rest comes too late', async () => {
    const deal = await here().deal(SECRET)
    const part = sendPart(node('buyer'), deal.invoice, PART)
    await partWaits(deal)
    expect(await cancel(deal)).toBe(true)
    await isWithdrawn(deal)
    await isPartGivenBack(deal, part)
    expect(await sendPart(node('buyer'), deal.invoice, PART)).toBe('UnknownPaymentHash')
    expect((await here().seen(deal)).status).toBe('BUYER_REJECTED')
  })

  it('cancelled while the payment is on its way: now the one, now the other, and never both', async () => {
    const ends: { readonly deal: Deal; readonly isCancelled: boolean }[] = []
    // After how long the one and the other won last: the race is between them.
    let [tooSoonMs, tooLateMs] = [0, Infinity]
    const isBoth = (): boolean => tooSoonMs > 0 && tooLateMs < Infinity
    while (ends.length < MOST_RACES && !(isBoth() && ends.length >= RACES)) {
      const deal = await here().deal(SECRET)
      const afterMs = tooLateMs === Infinity ? Math.max(SOON_MS, 2 * tooSoonMs) : (tooSoonMs + tooLateMs) / 2
      const [isCancelled] = await Promise.all([sleep(afterMs).then(() => cancel(deal)), pay(deal)])
      if (isCancelled) tooSoonMs = afterMs
      else tooLateMs = afterMs
      ends.push({ deal, isCancelled })
    }
    expect(isBoth()).toBe(true)
    for (const { deal, isCancelled } of ends) await (isCancelled ? isWithdrawn(deal) : isSold(deal))
  })

  it('one part of a payment has come when its time is over: the part goes back', async () => {
    const { deal, part } = partly
    await here().reaches(deal, 'BUYER_FAILED_TO_PAY')
    await isPartGivenBack(deal, part)
  })

  it('the buyer’s node takes no such channel: nobody is paid, and the money comes back', async () => {
    const deal = await here().deal(SECRET, 'picky')
    await here().paid(deal)
    await isGivenBack(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(agent.said()).toMatch(/peer-refused/)
  })

  it('the buyer’s node goes away after it has paid: the money comes back to it', async () => {
    await agent.kill()
    const deal = await here().deal(SECRET)
    await here().paid(deal)
    await here().reaches(deal, 'WAITING_FOR_CHANNEL_OPEN')
    await withoutNode(here().servers, 'buyer', async () => {
      agent = start()
      await here().reaches(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    })
    await isGivenBack(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  })

  it('paid after its time, past what the payer’s own node would allow: nothing is taken', async () => {
    await here().reaches(late, 'BUYER_FAILED_TO_PAY')
    expect(await sendPart(node('buyer'), late.invoice, { msat: PRICE_MSAT, totalMsat: PRICE_MSAT })).toBe('UnknownPaymentHash')
    expect((await here().seen(late)).status).toBe('BUYER_FAILED_TO_PAY')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
