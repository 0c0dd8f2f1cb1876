import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Market } from './market.ts'
import { openStage, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

/** The seller's node, and the payment hashes of its invoices that it says are settled. */
function paid(): { readonly settled: Set<string>; readonly lightning: Lightning } {
  const settled = new Set<string>()
  const { payments } = stage.seller
  const findInvoice: typeof payments.findInvoice = async (hash) => {
    const invoice = await payments.findInvoice(hash)
    return invoice && { ...invoice, state: settled.has(hash) ? 'settled' : 'open' }
  }
  return { settled, lightning: { ...stage.seller, payments: { ...payments, findInvoice } } }
}

test.each(['first', 'second'] as const)(
  'an invoice that the market wants again is given again; the sale is over when the %s is settled',
  async (which) => {
    const order = stage.place('one')
    const { settled, lightning } = paid()
    let later = 0
    const { journal } = stage.start({ lightning, clock: { ...systemClock, now: () => Date.now() + later } })
    await stage.complete(order)
    Object.assign(order, { listed: true })
    later = 60_000
    await until('another invoice', () => order.invoices.length === 2)
    order.listed = false
    settled.add(order.invoices[which === 'first' ? 0 : 1] ?? '')
    await until('it is over', () => journal.sales.size === 0)
  },
)

test('a seller whose loss the operator bears gives the invoice that is wanted, and its channel stays until it is paid', async () => {
  const order = stage.place('one')
  const { settled, lightning } = paid()
  let later = 0
  const { journal } = stage.start({ lightning, clock: { ...systemClock, now: () => Date.now() + later } })
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', operatorLoss: 'BORNE' })
  const { looks } = order
  await until('that was seen', () => order.looks > looks + 1)
  order.listed = true
  later = 60_000
  await until('another invoice', () => order.invoices.length === 2)
  order.listed = false
  expect(journal.sales.has('one')).toBe(true)
  settled.add(order.invoices[1] ?? '')
  await until('it is over', () => journal.sales.size === 0)
  expect(journal.toClose()).toEqual([])
})

test('an invoice whose giving was not answered is given again, and no other is made', async () => {
  const order = stage.place('one')
  const { settled, lightning } = paid()
  let calls = 0
  const unanswered: Market = {
    ...stage.market,
    accept: async (id, request) => {
      await stage.market.accept(id, request)
      if (++calls < 3) throw new Fault('no answer')
    },
  }
  const first = stage.start({ lightning, market: unanswered })
  await until('it was given once', () => calls === 1)
  await first.end()
  const { journal } = stage.start({ lightning, market: unanswered })
  await stage.complete(order)
  expect([calls, order.invoices.length]).toEqual([3, 1])
  await until('it is sold', () => journal.sales.get('one')?.sold)
  settled.add(order.invoices[0] ?? '')
  await until('it is over', () => journal.sales.size === 0)
})

test('an invoice whose giving was never answered pays for the sale all the same', async () => {
  const order = stage.place('one')
  const { settled, lightning } = paid()
  const first = stage.start({ lightning })
  await stage.complete(order)
  await until('it is sold', () => first.journal.sales.get('one')?.sold)
  const request = 'lnbcrt1'
  expect(first.journal.record('one', 1, { type: 'InvoiceMade', paymentHash: 'ab'.repeat(32), request }).given).toHaveLength(1)
  await first.end()
  const asked: string[] = []
  const { payments } = lightning
  const findInvoice: typeof payments.findInvoice = async (hash) => {
    asked.push(hash)
    const invoice = await payments.findInvoice(order.invoices[0] ?? '')
    return invoice && { ...invoice, state: settled.has(hash) ? 'settled' : 'open' }
  }
  const { journal } = stage.start({ lightning: { ...lightning, payments: { ...payments, findInvoice } } })
  await until('both were looked at', () => new Set(asked).size === 2)
  settled.add('ab'.repeat(32))
  await until('it is over', () => journal.sales.size === 0)
})
