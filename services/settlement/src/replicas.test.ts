import type { Clock } from '@penstock/ports/clock.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, expect, test } from 'vitest'
import { LOOKS_ARE_OVER_MS } from './effects/pay.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { type Market, openMarket } from './market.contract.ts'
import { settlementService } from './service.ts'

let market: Market
afterEach(() => market.close())

/** A door that is shut until somebody opens it. */
function gate() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

/** One more process of the same service, on the same stores. */
const another = (ports: SettlementPorts) =>
  run([bind(settlementService(), ports)], {
    ...market.world.platform,
    clock: withoutTheWait(market.world.platform.clock),
    instance: 'another',
  })

const withPayments = (ports: SettlementPorts, payments: Partial<SettlementPorts['lightning']['payments']>): SettlementPorts => ({
  ...ports,
  lightning: { ...ports.lightning, payments: { ...ports.lightning.payments, ...payments } },
})

/** What an earlier payment may be on its way for is nothing to sit through. */
const withoutTheWait = (clock: Clock): Clock => ({
  ...clock,
  sleep: (ms, signal) => clock.sleep(ms === LOOKS_ARE_OVER_MS ? 100 : ms, signal),
})

test('a replica that stood still before it paid does not pay a seller that another has paid to another invoice', async () => {
  const failing = gate()
  let first = ''
  const changed = (ports: SettlementPorts): SettlementPorts => {
    const { payments } = ports.lightning
    return withPayments(ports, {
      pay: async (request, options) => {
        if (request !== first) return payments.pay(request, options)
        await failing.opened
        return { state: 'failed', reason: 'rejected-by-destination' }
      },
    })
  }
  market = await openMarket({}, changed, withoutTheWait)
  await market.issue()
  const outpoint = await market.noted(await market.held())
  const { invoice, payment_hash: firstHash } = await market.payoutInvoice()
  first = invoice
  await market.fact('PayoutInvoiceTaken')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  market.control.mine(3)
  await market.fact('PayoutRequested')

  const asleep = gate()
  let looked = false
  const { payments } = market.ports.lightning
  const paidAsleep: string[] = []
  const sleeper = await another(
    withPayments(market.ports, {
      find: async (hash) => {
        const found = await payments.find(hash)
        // Either process may be asked for the second payout.
        if (hash !== firstHash || looked) return found
        looked = true
        await asleep.opened
        return found
      },
      pay: async (request, options) => {
        if (request !== first) return payments.pay(request, options)
        paidAsleep.push(request)
        return { state: 'in-flight' }
      },
    }),
  )
  await until('it is about to pay', () => looked)
  failing.open()
  await market.fact('PayoutFailed')
  await market.payoutInvoice()
  const paid = await market.fact('PayoutSucceeded')
  expect(paid.data.paymentHash).not.toBe(firstHash)
  asleep.open()
  await sleeper.close()
  expect(paidAsleep).toEqual([])
})
