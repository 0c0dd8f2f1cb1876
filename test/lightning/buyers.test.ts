import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { type Agent, agentsOf } from './agents.ts'
import { type Deal, exchange } from './exchange.ts'
import { payInParts, sendPart } from './raw-payments.ts'
import { noLightning } from './servers.ts'

const PRICE_MSAT = 5_000_000n
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
  beforeAll(async () => {
    start = await agentsOf(here(), 'seller', 3)
    agent = start()
    late = await here().deal(SECRET)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => here().servers.node(alias)
  const invoice = ({ paymentHash }: Deal) => here().lightning('market').holds.find(paymentHash)
  const isHeld = (deal: Deal) =>
    until('it is held', async () => {
      const now = await invoice(deal)
      return now?.state === 'held' && now
    })

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
    expect((await here().lightning('buyer').payments.find(deal.paymentHash))?.state ?? 'failed').toBe('failed')
  }

  it('a payment that fails changes nothing; one in parts that come at different heights is one, and its first end counts', async () => {
    const deal = await here().deal(SECRET)
    // It has nothing on its side of any channel.
    const poor = here().lightning('seller').payments
    expect(await poor.pay(deal.invoice, { maxFeeMsat: 0n, timeoutMs: 5000 })).toMatchObject({ state: 'failed' })
    const part = { msat: PRICE_MSAT / 2n, totalMsat: PRICE_MSAT }
    const first = sendPart(node('buyer'), deal.invoice, part)
    await until('the first part waits', async () => (await invoice(deal))?.htlcs.length === 1)
    expect((await invoice(deal))?.state).toBe('open')
    await here().servers.mine(2)
    const second = sendPart(node('buyer'), deal.invoice, part)
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

  it('cancelled while the payment is on its way: the one or the other, and never both', async () => {
    const deals = [await here().deal(SECRET), await here().deal(SECRET), await here().deal(SECRET)]
    const ends = await Promise.all(
      deals.map(async (deal) => {
        const paying = pay(deal)
        await until('it has left', async () => (await here().lightning('buyer').payments.find(deal.paymentHash)) !== undefined)
        return { deal, isCancelled: await cancel(deal), paid: await paying }
      }),
    )
    for (const { deal, isCancelled } of ends) await (isCancelled ? isWithdrawn(deal) : isSold(deal))
  })

  it('the buyer’s node takes no such channel: nobody is paid, and the money comes back', async () => {
    const deal = await here().deal(SECRET, 'picky')
    await here().paid(deal)
    await isGivenBack(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    expect(agent.said()).toMatch(/peer-refused/)
  }, 120_000)

  it('the buyer’s node goes away after it has paid: the money comes back to it', async () => {
    await agent.kill()
    const deal = await here().deal(SECRET)
    await here().paid(deal)
    await here().reaches(deal, 'WAITING_FOR_CHANNEL_OPEN')
    await node('buyer').kill()
    agent = start()
    await here().reaches(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    await node('buyer').start()
    await isGivenBack(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
  }, 120_000)

  it('paid after its time, past what the payer’s own node would allow: nothing is taken', async () => {
    await here().reaches(late, 'BUYER_FAILED_TO_PAY')
    expect(await sendPart(node('buyer'), late.invoice, { msat: PRICE_MSAT, totalMsat: PRICE_MSAT })).toBe('UnknownPaymentHash')
    expect((await here().seen(late)).status).toBe('BUYER_FAILED_TO_PAY')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  }, 120_000)
})
