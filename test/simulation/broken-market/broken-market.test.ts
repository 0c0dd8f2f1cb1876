import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quietInvoice, quietPlan, sellersBehave } from '../plan/quiet-plan.ts'
import type { Trigger } from '../plan/triggers.ts'
import type { SimulationPlan } from '../plan/plan.ts'
import type { SimulationWorkers } from '../pool.ts'
import { createTestWorkers } from '../test-workers.ts'

let pool: SimulationWorkers
beforeAll(() => {
  pool = createTestWorkers()
})
afterAll(() => pool.close())

const planWithLastSale: SimulationPlan = { ...quietPlan, hasLastSale: true }
const shortQuiescence = { quiescenceTimeoutMs: 40_000 }
const firstSellerNeverOpens = { networkEvents: sellersBehave('never-open', ['seller-ada']) }
/** The workload lasts until the opening window of the last seller has ended. */
const sellersNeverOpen = { workloadMs: 20_000, networkEvents: sellersBehave('never-open') }
/** A hold reaches its last height while the order service is down, so only the guard can act. */
const lastHeightPlan: Trigger = {
  factType: 'settlement HoldHeld',
  nth: 1,
  injections: [
    { name: 'order is down', afterMs: 0, amount: 60_000 },
    { name: 'the last height comes', afterMs: 0, amount: 0 },
  ],
}
/** A double spend replaces the funding of a sold channel, and the buyer requests a refund. */
const undoneSale: readonly Trigger[] = [
  { factType: 'settlement HoldSettled', nth: 1, injections: [{ name: 'the sale is undone', afterMs: 0, amount: 0 }] },
  {
    factType: 'settlement PayableClosed',
    nth: 1,
    injections: [{ name: 'the buyer asks for its money', afterMs: 100, amount: 1 }],
  },
]

describe.concurrent('the checks of the simulation', () => {
  test('accept a market without a defect that sells channels', async () => {
    expect(await pool.run({ plan: planWithLastSale })).toMatchObject({
      violation: undefined,
      statuses: { CHANNEL_MONITORING_FINISHED: 2 },
    })
  })

  test('accept a market that refunds a buyer whose channel was double-spent', async () => {
    const { violation, faults, transitions } = await pool.run({ plan: { ...planWithLastSale, triggers: undoneSale } })
    expect({ broken: violation, paid: faults['refund that was paid'] }).toEqual({ broken: undefined, paid: 1 })
    expect(transitions['hold: settled --PayableClosed--> settled']).toBe(1)
  })

  test.each([
    ['settles before the proof', 'settled only when proven', {}],
    ['does not pay out', 'money', {}],
    ['pays a stranger', 'paid for an order', {}],
    // The first seller submits a payout invoice, but never opens a channel. So two payout invoices exist for one order.
    ['pays everybody', 'paid once', firstSellerNeverOpens],
    ['forgets to give back', 'cancelled orders hold nothing', sellersNeverOpen],
    ['sleeps over its holds', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['is silent at the last height', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['is silent and waits', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['speaks a few blocks late', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['cannot give back', 'due payments end', sellersNeverOpen],
    ['cannot take its money', 'due payments end', {}],
    ['thinks it too late', 'incidents have causes', {}],
    ['keeps to its sellers', 'paid to the creditor', { triggers: undoneSale }],
    ['pays both sides', 'paid once', { triggers: undoneSale }],
    ['forgets its buyers', 'liveness', { triggers: undoneSale, ...shortQuiescence }],
    ['lets a msat slip', 'balances', {}],
    ['changes a fact', 'streams', {}],
    ['sets a message aside', 'no message is parked', {}],
    ['lets go of a promise', 'no unhandled rejection', {}],
    ['does not start', 'no process ends by itself', {}],
    ['reads ahead', 'read models follow the streams', {}],
    ['shows another height', 'read models match their facts', {}],
    ['shows what is not so', 'read models', {}],
    ['shows another balance', 'payments', { sandboxInvoices: [quietInvoice] }],
    ['does not listen', 'liveness', shortQuiescence],
    ['fails its buyers', 'no internal error in an answer', {}],
    ['sells only once', 'liveness', {}],
    ['is careless in the end', 'no unhandled rejection', {}],
    ['reads the clock', 'runs are deterministic', {}],
    ['makes a date of now', 'runs are deterministic', {}],
    ['draws itself', 'runs are deterministic', {}],
    ['rolls dice', 'runs are deterministic', {}],
  ] as const)('report a market that %s', async (defect, invariant, change) => {
    const { violation } = await pool.run({ plan: { ...planWithLastSale, ...change }, defect })
    expect({ ...violation, stack: undefined }).toMatchObject({ invariant })
  })

  test.each([
    ['whose first seller never opens', firstSellerNeverOpens],
    ['whose sellers never open', sellersNeverOpen],
    ['in which only the guard can act at the last height', { triggers: [lastHeightPlan] }],
    ['with a short quiescence timeout', shortQuiescence],
    ['with a payment in a sandbox', { sandboxInvoices: [quietInvoice] }],
  ] as const)('accept a market without a defect %s', async (_, change) => {
    expect((await pool.run({ plan: { ...planWithLastSale, ...change } })).violation).toBe(undefined)
  })
})
