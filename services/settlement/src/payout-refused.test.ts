import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { afterEach, expect, test } from 'vitest'
import { LOOKS_ARE_OVER_MS } from './effects/pay.ts'
import { type Market, openMarket } from './market.contract.ts'

let market: Market
afterEach(() => market.close())

/** The wait for payments that are on their way is not what is tested here. */
const withoutTheWait = (clock: Clock): Clock => ({
  ...clock,
  sleep: (ms, signal) => clock.sleep(ms === LOOKS_ARE_OVER_MS ? 100 : ms, signal),
})

test('a payout that the node refuses with an unknown error gives way to the next invoice of its seller', async () => {
  let refused = ''
  market = await openMarket(
    {},
    (ports) => {
      const { payments } = ports.lightning
      const pay: typeof payments.pay = (request, options) =>
        request === refused
          ? Promise.reject(new Fault('lnd: UnexpectedPaymentError (the router is not ready)'))
          : payments.pay(request, options)
      return { ...ports, lightning: { ...ports.lightning, payments: { ...payments, pay } } }
    },
    withoutTheWait,
  )
  await market.issue()
  const outpoint = await market.noted(await market.held())
  const first = await market.payoutInvoice()
  refused = first.invoice
  await market.fact('PayoutInvoiceTaken')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  market.control.mine(3)
  await market.fact('PayoutRequested')
  const second = await market.payoutInvoice()
  expect((await market.fact('PayoutFailed')).data).toMatchObject({ paymentHash: first.payment_hash, status: 'NO_ROUTE' })
  expect((await market.fact('PayoutSucceeded')).data.paymentHash).toBe(second.payment_hash)
})
