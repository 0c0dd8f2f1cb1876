import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CrashCase, listCrashCases } from '../crash/cases.ts'
import { quietInvoice, quietPlan, quietPurchase, sellersBehave } from './plan/quiet-plan.ts'
import type { SandboxInvoice, SimulationPlan } from './plan/plan.ts'
import type { SimulationWorkers } from './pool.ts'
import { createTestWorkers } from './test-workers.ts'
import { formatNamedCrash } from './world/named-crashes.ts'

let pool: SimulationWorkers
beforeAll(() => {
  pool = createTestWorkers()
})
afterAll(() => pool.close())

/** The change of the quiet plan, the final status of the order, null without an order, and events that must happen. */
type SimulatedScenario = {
  readonly change: Partial<SimulationPlan>
  readonly status: string | null
  readonly occurrences?: readonly string[]
}

/** A sale needs less time than this. */
const SHORT_WORKLOAD_MS = 8000
/** A workload that lasts until the windows of all sellers, or the invoice, have ended. */
const LONG_WORKLOAD_MS = 20_000

/** The second send comes after the failure of the first one. */
const sandboxInvoice: SandboxInvoice = {
  ...quietInvoice,
  sends: [...quietInvoice.sends, { behavior: 'complete', callDelaysMs: [4000, 4500] }],
}

const sandboxScenario: SimulatedScenario = {
  change: { purchases: [], sandboxInvoices: [sandboxInvoice] },
  status: null,
  occurrences: ['idempotency key that was repeated'],
}

/** The scenarios of test/crash/scenarios.ts. */
const scenarios: Readonly<Record<CrashCase['scenario'], SimulatedScenario>> = {
  sale: { change: {}, status: 'CHANNEL_MONITORING_FINISHED' },
  failover: {
    change: { networkEvents: sellersBehave('never-open', ['seller-ada']) },
    status: 'CHANNEL_MONITORING_FINISHED',
    occurrences: ['asked to open: never-open', 'asked to open: ok'],
  },
  'nobody opens': {
    change: { workloadMs: LONG_WORKLOAD_MS, networkEvents: sellersBehave('never-open') },
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
  },
  'funding vanishes': {
    change: { workloadMs: LONG_WORKLOAD_MS, networkEvents: sellersBehave('vanish') },
    status: 'SELLER_FAILED_TO_SEND_SWAP',
  },
  'wrong size': { change: { networkEvents: sellersBehave('wrong-size') }, status: 'INVALID_CHANNEL_OPENING' },
  // With this seed the guard's effect cancels the hold. With others its round at the same height may be first.
  'not paid': {
    change: { seed: 3, workloadMs: LONG_WORKLOAD_MS, purchases: [{ ...quietPurchase, afterwards: 'leave' }] },
    status: 'BUYER_FAILED_TO_PAY',
  },
  withdrawn: { change: { purchases: [{ ...quietPurchase, afterwards: 'cancel' }] }, status: 'BUYER_REJECTED' },
  're-org': {
    change: {
      triggers: [
        {
          factType: 'order FundingConfirmedRecorded',
          nth: 1,
          injections: [{ name: 'a re-org', afterMs: 0, amount: 2 }],
        },
      ],
    },
    status: 'CHANNEL_MONITORING_FINISHED',
    occurrences: ['re-org that took a funding out of its block'],
  },
  'sandbox payments': sandboxScenario,
  // A simulated sandbox always has an endpoint for webhooks.
  'sandbox webhooks': sandboxScenario,
}

const createPlan = ({ crashPoint, scenario, isFreshMarket }: CrashCase): SimulationPlan => {
  const { name, visit } = parseCrashPoint(crashPoint)
  return {
    ...quietPlan,
    workloadMs: SHORT_WORKLOAD_MS,
    ...scenarios[scenario].change,
    canCrashWhileOpening: isFreshMarket,
    crashPoints: [{ point: name, when: 'after', visit }],
  }
}

function parseCrashPoint(crashPoint: string): { readonly name: string; readonly visit: number } {
  const [name = '', visit = '1'] = crashPoint.split('#')
  return { name, visit: Number(visit) }
}

describe.concurrent('a process that crashes at a crash point recovers', () => {
  test.each(listCrashCases())('$crashPoint during "$scenario"', async (crashCase) => {
    const { status, occurrences = [] } = scenarios[crashCase.scenario]
    const { name } = parseCrashPoint(crashCase.crashPoint)
    const { violation, faults, statuses } = await pool.run({ plan: createPlan(crashCase) })
    expect(faults[formatNamedCrash(name)] ?? 'never visited').toBe(1)
    expect(violation?.message).toBe(undefined)
    expect(occurrences.filter((occurrence) => !(occurrence in faults))).toEqual([])
    // A crash of a gateway may lose the answer to a purchase. The buyer then buys again, and the first order expires.
    const isAnswerLost = name.startsWith('gateway.') && 'BUYER_FAILED_TO_PAY' in statuses
    expect(statuses).toEqual({ ...(status !== null && { [status]: 1 }), ...(isAnswerLost && { BUYER_FAILED_TO_PAY: 1 }) })
  })
})

test('a crash point that is never visited crashes no process', async () => {
  const crashCase: CrashCase = { crashPoint: 'order.after-append#1000', scenario: 'withdrawn', isFreshMarket: false }
  const { violation, faults } = await pool.run({ plan: createPlan(crashCase) })
  expect([violation, faults[formatNamedCrash('order.after-append')]]).toEqual([undefined, undefined])
})
