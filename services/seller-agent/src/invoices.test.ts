import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MarketClient } from './market-client.ts'
import { openAgentFixture, type AgentFixture } from './agent.fixture.ts'

let fixture: AgentFixture
beforeEach(async () => {
  fixture = await openAgentFixture()
})
afterEach(() => fixture.close())

/** The seller's node, and the payment hashes of the invoices that it shows as settled. */
function trackSettledInvoices(): { readonly settled: Set<string>; readonly lightning: Lightning } {
  const settled = new Set<string>()
  const { payments } = fixture.seller
  const findInvoice: typeof payments.findInvoice = async (hash) => {
    const invoice = await payments.findInvoice(hash)
    return invoice && { ...invoice, state: settled.has(hash) ? 'settled' : 'open' }
  }
  return { settled, lightning: { ...fixture.seller, payments: { ...payments, findInvoice } } }
}

test.each(['first', 'second'] as const)(
  'a sale for which the market requested a second invoice ends when the %s invoice is settled',
  async (which) => {
    const order = fixture.place('one')
    const { settled, lightning } = trackSettledInvoices()
    let clockOffsetMs = 0
    const { journal } = fixture.start({ lightning, clock: { ...systemClock, now: () => systemClock.now() + clockOffsetMs } })
    await fixture.waitUntilSold(order)
    Object.assign(order, { listed: true })
    clockOffsetMs = 60_000
    await waitUntil('another invoice', () => order.invoices.length === 2)
    order.listed = false
    settled.add(order.invoices[which === 'first' ? 0 : 1] ?? '')
    await waitUntil('the sale is over', () => journal.sales.size === 0)
  },
)

test('a seller whose loss the operator bears submits the requested invoice, and its channel stays open', async () => {
  const order = fixture.place('one')
  const { settled, lightning } = trackSettledInvoices()
  let clockOffsetMs = 0
  const { journal } = fixture.start({ lightning, clock: { ...systemClock, now: () => systemClock.now() + clockOffsetMs } })
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', operatorLoss: 'BORNE' })
  const { readCount } = order
  await waitUntil('that was seen', () => order.readCount > readCount + 1)
  order.listed = true
  clockOffsetMs = 60_000
  await waitUntil('another invoice', () => order.invoices.length === 2)
  order.listed = false
  expect(journal.sales.has('one')).toBe(true)
  settled.add(order.invoices[1] ?? '')
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  expect(journal.listChannelsToClose()).toEqual([])
})

test('an unanswered invoice is submitted again, and no other invoice is made', async () => {
  const order = fixture.place('one')
  const { settled, lightning } = trackSettledInvoices()
  let calls = 0
  const unanswered: MarketClient = {
    ...fixture.market,
    accept: async (id, request) => {
      await fixture.market.accept(id, request)
      if (++calls < 3) throw new Fault('no answer')
    },
  }
  const first = fixture.start({ lightning, market: unanswered })
  await waitUntil('it was submitted once', () => calls === 1)
  await first.end()
  const { journal } = fixture.start({ lightning, market: unanswered })
  await fixture.waitUntilSold(order)
  expect([calls, order.invoices.length]).toEqual([3, 1])
  await waitUntil('it is sold', () => journal.sales.get('one')?.isChannelSold)
  settled.add(order.invoices[0] ?? '')
  await waitUntil('the sale is over', () => journal.sales.size === 0)
})

test('a sale ends when an invoice is settled whose submission the market never answered', async () => {
  const order = fixture.place('one')
  const { settled, lightning } = trackSettledInvoices()
  const first = fixture.start({ lightning })
  await fixture.waitUntilSold(order)
  await waitUntil('it is sold', () => first.journal.sales.get('one')?.isChannelSold)
  const request = 'lnbcrt1'
  expect(
    first.journal.record('one', 1, { type: 'InvoiceMade', paymentHash: 'ab'.repeat(32), request }).acceptedHashes,
  ).toHaveLength(1)
  await first.end()
  const readHashes: string[] = []
  const { payments } = lightning
  const findInvoice: typeof payments.findInvoice = async (hash) => {
    readHashes.push(hash)
    const invoice = await payments.findInvoice(order.invoices[0] ?? '')
    return invoice && { ...invoice, state: settled.has(hash) ? 'settled' : 'open' }
  }
  const { journal } = fixture.start({ lightning: { ...lightning, payments: { ...payments, findInvoice } } })
  await waitUntil('both were read', () => new Set(readHashes).size === 2)
  settled.add('ab'.repeat(32))
  await waitUntil('the sale is over', () => journal.sales.size === 0)
})
