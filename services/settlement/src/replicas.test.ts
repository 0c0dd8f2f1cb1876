import { bind, run } from '@penstock/runtime/run.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { LATE_SENDS_OVER_MS } from './effects/send-payout.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { type SettlementMarket, openSettlementMarket, shortenSleep } from './market.fixture.ts'
import { settlementService } from './service.ts'

let market: SettlementMarket
afterEach(() => market.close())

/** A promise that is pending until the test opens it. */
function gate() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

/** Starts another process of the same service on the same stores. */
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

/** Shortens the wait for earlier payments that may be on their way. */
const withoutTheWait = shortenSleep(LATE_SENDS_OVER_MS)

test('a replica that was paused before a payout does not pay a seller that another replica has paid meanwhile', async () => {
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
  market = await openSettlementMarket({}, changed, withoutTheWait)
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  const { invoice, payment_hash: firstHash } = await market.submitPayoutInvoice()
  first = invoice
  await market.fact('PayoutInvoiceAccepted')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  market.control.mine(3)
  await market.fact('PayoutRequested')

  const asleep = gate()
  let hasRead = false
  const { payments } = market.ports.lightning
  const paidAsleep: string[] = []
  const sleeper = await another(
    withPayments(market.ports, {
      find: async (hash) => {
        const found = await payments.find(hash)
        // Either process may run the second payout.
        if (hash !== firstHash || hasRead) return found
        hasRead = true
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
  await waitUntil('it is about to pay', () => hasRead)
  failing.open()
  await market.fact('PayoutFailed')
  await market.submitPayoutInvoice()
  const paid = await market.fact('PayoutSucceeded')
  expect(paid.data.paymentHash).not.toBe(firstHash)
  asleep.open()
  await sleeper.close()
  expect(paidAsleep).toEqual([])
})
