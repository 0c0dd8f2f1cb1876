import { expect, test } from 'vitest'
import type { OverloadReport, OverloadResult } from './overload.ts'
import { listGoals, listMissedGoals, renderOverload, renderOverloadPlot } from './overload-report.ts'

const createLoad = (factor: number, change: Partial<OverloadResult> = {}): OverloadResult => ({
  factor,
  perSecond: 2 * factor,
  due: 80 * factor,
  refused: 0,
  sold: 100,
  goodput: 2,
  lost: 0,
  buyP50Ms: 200,
  buyP99Ms: 400,
  refusal: { p50Ms: 10, p99Ms: 15 },
  getOrder: { p50Ms: 5, p99Ms: 10 },
  settledMs: 30_000,
  endedBy: 'itself',
  failures: [],
  ...change,
})

/** 80 refusals, which cost this much CPU above the idle cluster. */
const createRefusals = (ms: number): OverloadReport['refusals'] => ({
  window: { wallMs: 5000, byProcess: new Map([['order', 900 + ms]]) },
  refused: 80,
})

/** Creates a report that meets every goal at its limit. */
const createReport = (heaviest: Partial<OverloadResult> = {}, change: Partial<OverloadReport> = {}): OverloadReport => ({
  capacityPerSecond: 2,
  loadSeconds: 130,
  loads: [createLoad(0.5), createLoad(1), createLoad(2), createLoad(4, { goodput: 1.6, ...heaviest })],
  cpu: {
    idle: {
      wallMs: 30_000,
      byProcess: new Map([
        ['order', 2400],
        ['kafka', 3000],
      ]),
    },
    load: {
      wallMs: 60_000,
      byProcess: new Map([
        ['order', 14_800],
        ['kafka', 16_000],
      ]),
    },
    sold: 100,
    referenceMs: 20,
  },
  recoveryMs: 10_000,
  refusals: createRefusals(800),
  ...change,
})
const listVerdicts = (report: OverloadReport, firstRuns?: number) => listGoals(report, firstRuns).map(({ isHeld }) => isHeld)

test('figures at their limits hold', () => {
  expect(listVerdicts(createReport(), 22.23)).toEqual([true, true, true, true, true, true, true])
  expect(listMissedGoals(createReport()).filter((goal) => !goal.startsWith('CPU of a sold order'))).toEqual([])
})

test.each<[reason: string, report: OverloadReport, missed: number]>([
  ['the sales fall below 0.8 of the peak', createReport({ goodput: 1.59 }), 0],
  ['a paid order has no channel', createReport({ lost: 1 }), 1],
  ['the invoice times stay long', createReport({}, { recoveryMs: 10_001 }), 2],
  ['the invoice times never become normal', createReport({}, { recoveryMs: null }), 2],
  ['a refusal is slow', createReport({ refusal: { p50Ms: 10, p99Ms: 15.1 } }), 3],
  ['no order was refused', createReport({ refusal: { p50Ms: null, p99Ms: null } }), 3],
  [
    'the idle services use CPU',
    createReport({}, { cpu: { ...createReport().cpu, idle: { wallMs: 29_000, byProcess: new Map([['order', 2400]]) } } }),
    4,
  ],
  ['a refused purchase costs a tenth of a sold order', createReport({}, { refusals: createRefusals(1600) }), 5],
  [
    'no purchase was refused while the market was stopped',
    createReport({}, { refusals: { ...createRefusals(0), refused: 0 } }),
    5,
  ],
])('a goal is missed if %s', (_, report, missed) => {
  expect(listVerdicts(report).slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5].map((index) => index !== missed))
})

test('the cost of an order is compared with the first measurement, if there is one', () => {
  expect(listVerdicts(createReport(), 22.2).at(-1)).toBe(false)
  expect(listGoals(createReport(), 22.2).at(-1)).toMatchObject({ target: '≤ 0.45 of 22.2', measured: '10.0' })
})

test('failures of a load are missed goals', () => {
  expect(listMissedGoals(createReport({ failures: ['a fault.'] }))).toContain('at 4 times: a fault.')
})

test('the page has the loads, each goal with its verdict, and the CPU by process', () => {
  const page = renderOverload(createReport({ refused: 200, lost: 2 }), new Date('2026-11-30'))
  expect(page).toContain('Measured on 2026-11-30;')
  expect(page).toContain('| 4 | 8.00 | 320 | 200 | 100 | 1.60 | 2 | 200 ms | 400 ms | 15 ms | 10 ms | 30,000 ms |')
  expect(page).toContain('| paid orders without a channel, over all loads | 0 | 2 of 402 | missed |')
  expect(page).toContain('| CPU of the idle services, per second | ≤ 80 ms | 80 ms | held |')
  expect(page).toContain('| services | 148 ms | 100 ms | 80.0 ms |')
  expect(page).toContain('a sold order costs 15.4 on all processes, and 10.0 above the idle cluster')
})

test('the plot has no line for figures that no load has', () => {
  const nothing = { p50Ms: null, p99Ms: null }
  const loads = [0.5, 1].map((factor) => createLoad(factor, { refusal: nothing, getOrder: nothing }))
  const plot = renderOverloadPlot(createReport({}, { loads }))
  expect(plot).toContain('Time to an invoice')
  expect(plot).not.toContain('p99 of quick answers')
  expect(plot).not.toContain('NaN')
})
