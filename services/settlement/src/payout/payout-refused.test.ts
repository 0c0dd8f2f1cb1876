import { Fault } from '@penstock/kernel/result.ts'
import { afterEach, expect, test } from 'vitest'
import { LATE_SENDS_OVER_MS } from '../effects/send-payout.ts'
import { type SettlementMarket, openSettlementMarket, shortenSleep } from '../market.fixture.ts'

let market: SettlementMarket
afterEach(() => market.close())

test('a payout that the node refuses with an unknown error is replaced by the next invoice of its seller', async () => {
  let refused = ''
  market = await openSettlementMarket(
    {},
    (ports) => {
      const { payments } = ports.lightning
      const pay: typeof payments.pay = (request, options) =>
        request === refused
          ? Promise.reject(new Fault('lnd: UnexpectedPaymentError (the router is not ready)'))
          : payments.pay(request, options)
      return { ...ports, lightning: { ...ports.lightning, payments: { ...payments, pay } } }
    },
    // This test does not cover the wait for payments that may be on their way.
    shortenSleep(LATE_SENDS_OVER_MS),
  )
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  const first = await market.submitPayoutInvoice()
  refused = first.invoice
  await market.fact('PayoutInvoiceAccepted')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  market.control.mine(3)
  await market.fact('PayoutRequested')
  const second = await market.submitPayoutInvoice()
  expect((await market.fact('PayoutFailed')).data).toMatchObject({ paymentHash: first.payment_hash, status: 'NO_ROUTE' })
  expect((await market.fact('PayoutSucceeded')).data.paymentHash).toBe(second.payment_hash)
})
