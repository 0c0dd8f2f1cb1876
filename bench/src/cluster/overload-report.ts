import { type PlotSeries, renderPlot } from '../growth/svg-plot.ts'
import { computeCpuRows, type CpuReport, type CpuRow } from './cpu.ts'
import type { OverloadReport, OverloadResult } from './overload.ts'
import type { RefusalCpu } from './refusals.ts'

export const OVERLOAD_HEADING = '## Beyond its capacity'

/** A figure with its target. A figure that could not be measured misses its target. */
export type Goal = {
  readonly figure: string
  readonly target: string
  readonly measured: string
  /** Null if there is no earlier measurement to compare with. */
  readonly isHeld: boolean | null
}

const MIN_GOODPUT_SHARE = 0.8
const MAX_RECOVERY_SECONDS = 10
const MAX_REFUSAL_RATIO = 1.5
const MAX_IDLE_MS_PER_SECOND = 80
/** The cost of an order that was measured first, in runs of the reference workload above the idle cluster; null if unknown. */
const FIRST_ORDER_RUNS: number | null = 131.1
const MAX_COST_SHARE = 0.45
const MAX_REFUSAL_COST_SHARE = 0.1

const NOT_MEASURED = 'not measured'
const formatMs = (ms: number | null): string => (ms === null ? '-' : `${Math.round(ms).toLocaleString('en')} ms`)
const formatFineMs = (ms: number): string => (ms < 100 ? `${ms.toFixed(1)} ms` : formatMs(ms))

export function listGoals({ loads, cpu, recoveryMs, refusals }: OverloadReport, firstRuns = FIRST_ORDER_RUNS): readonly Goal[] {
  const peak = Math.max(...loads.map(({ goodput }) => goodput))
  const heaviest = loads.at(-1)
  const share = (heaviest?.goodput ?? 0) / peak
  const sum = (count: (load: OverloadResult) => number): number => loads.reduce((total, load) => total + count(load), 0)
  const [lost, sold] = [sum((load) => load.lost), sum((load) => load.sold)]
  const [refusalMs, getOrderMs] = [heaviest?.refusal.p99Ms ?? null, heaviest?.getOrder.p99Ms ?? null]
  const refusalRatio = refusalMs === null || getOrderMs === null ? null : refusalMs / getOrderMs
  const { services, all } = computeCpuRows(cpu)
  const { idleMsPerSecond } = services
  const orderRuns = all.aboveIdleMs / cpu.referenceMs
  const factor = heaviest?.factor ?? 0
  const refusalCpuMs = computeRefusalCpuMs(cpu, refusals)
  const refusalShare = refusalCpuMs / all.aboveIdleMs
  return [
    {
      figure: `sales per second at ${factor} times the capacity, of the peak`,
      target: `≥ ${MIN_GOODPUT_SHARE}`,
      measured: `${share.toFixed(2)} (${heaviest?.goodput.toFixed(2)} of ${peak.toFixed(2)})`,
      isHeld: share >= MIN_GOODPUT_SHARE,
    },
    {
      figure: 'paid orders without a channel, over all loads',
      target: '0',
      measured: `${lost} of ${lost + sold}`,
      isHeld: lost === 0 && sold > 0,
    },
    {
      figure: `seconds from the end of ${factor} times the capacity to a normal p50 of \`buy\``,
      target: `≤ ${MAX_RECOVERY_SECONDS}`,
      measured: recoveryMs === null ? 'not reached' : (recoveryMs / 1000).toFixed(1),
      isHeld: recoveryMs !== null && recoveryMs <= MAX_RECOVERY_SECONDS * 1000,
    },
    {
      figure: `p99 of a refused \`buy\` ÷ p99 of \`get_order\`, at ${factor} times the capacity`,
      target: `≤ ${MAX_REFUSAL_RATIO}`,
      measured:
        refusalRatio === null ? NOT_MEASURED : `${refusalRatio.toFixed(2)} (${formatMs(refusalMs)}, ${formatMs(getOrderMs)})`,
      isHeld: refusalRatio !== null && refusalRatio <= MAX_REFUSAL_RATIO,
    },
    {
      figure: 'CPU of the idle services, per second',
      target: `≤ ${MAX_IDLE_MS_PER_SECOND} ms`,
      measured: formatMs(idleMsPerSecond),
      isHeld: idleMsPerSecond <= MAX_IDLE_MS_PER_SECOND,
    },
    {
      figure: 'CPU of a refused purchase ÷ CPU of a sold order, both above the idle cluster',
      target: `< ${MAX_REFUSAL_COST_SHARE}`,
      measured: `${refusalShare.toFixed(4)} (${formatFineMs(refusalCpuMs)}, ${formatFineMs(all.aboveIdleMs)})`,
      isHeld: refusals.refused > 0 && refusalShare < MAX_REFUSAL_COST_SHARE,
    },
    {
      figure: 'CPU of a sold order above the idle cluster, all processes, in runs of the reference workload',
      target: `≤ ${MAX_COST_SHARE} of ${firstRuns === null ? 'the first measurement' : firstRuns.toFixed(1)}`,
      measured: orderRuns.toFixed(1),
      isHeld: firstRuns === null ? null : orderRuns <= MAX_COST_SHARE * firstRuns,
    },
  ]
}

const computeRefusalCpuMs = ({ idle, referenceMs }: CpuReport, { window, refused }: RefusalCpu): number =>
  computeCpuRows({ idle, load: window, sold: refused, referenceMs }).all.aboveIdleMs

/** Lists the missed goals, one sentence each. */
export const listMissedGoals = (report: OverloadReport): readonly string[] => [
  ...listGoals(report)
    .filter(({ isHeld }) => isHeld === false)
    .map(({ figure, target, measured }) => `${figure}: ${measured}, wanted ${target}`),
  ...report.loads.flatMap(({ factor, failures }) => failures.map((failure) => `at ${factor} times: ${failure}`)),
]

const renderLine = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

const COLUMNS: readonly (readonly [heading: string, cell: (load: OverloadResult) => string | number])[] = [
  ['times', ({ factor }) => factor],
  ['orders a second', ({ perSecond }) => perSecond.toFixed(2)],
  ['due', ({ due }) => due],
  ['refused', ({ refused }) => refused],
  ['sold', ({ sold }) => sold],
  ['sold a second', ({ goodput }) => goodput.toFixed(2)],
  ['paid, no channel', ({ lost }) => lost],
  ['`buy` p50', ({ buyP50Ms }) => formatMs(buyP50Ms)],
  ['`buy` p99', ({ buyP99Ms }) => formatMs(buyP99Ms)],
  ['refused p99', ({ refusal }) => formatMs(refusal.p99Ms)],
  ['`get_order` p99', ({ getOrder }) => formatMs(getOrder.p99Ms)],
  ['settled p50', ({ settledMs }) => formatMs(settledMs)],
]

const renderLoads = ({ loads }: OverloadReport): string =>
  [
    renderLine(COLUMNS.map(([heading]) => heading)),
    renderLine(COLUMNS.map(() => '---:')),
    ...loads.map((load) => renderLine(COLUMNS.map(([, cell]) => cell(load)))),
  ].join('\n')

const renderGoals = (report: OverloadReport): string =>
  [
    '| | target | measured | |',
    '|---|---:|---:|---|',
    ...listGoals(report).map(({ figure, target, measured, isHeld }) =>
      renderLine([figure, target, measured, isHeld === null ? 'measured first' : isHeld ? 'held' : 'missed']),
    ),
  ].join('\n')

function renderCpu({ cpu }: OverloadReport): string {
  const { processes, services, all } = computeCpuRows(cpu)
  const renderRow = ({ name, orderMs, aboveIdleMs, idleMsPerSecond }: CpuRow): string =>
    renderLine([name, ...[orderMs, aboveIdleMs, idleMsPerSecond].map(formatFineMs)])
  const runs = (ms: number): string => (ms / cpu.referenceMs).toFixed(1)
  return [
    `In units of one run of the reference workload (\`bench/src/growth/reference-workload.ts\`, ${cpu.referenceMs.toFixed(1)} ms of CPU), a sold order costs ${runs(all.orderMs)} on all processes, and ${runs(all.aboveIdleMs)} above the idle cluster.`,
    [
      '| process | CPU per sold order | of this above idle | idle, per second |',
      '|---|---:|---:|---:|',
      ...[...processes, services, all].map(renderRow),
    ].join('\n'),
  ].join('\n\n')
}

/** Renders the last part of the page. `--overload` replaces only this part, so the part has its own date. */
export function renderOverload(report: OverloadReport, now = new Date()): string {
  const { capacityPerSecond, loadSeconds, cpu, refusals } = report
  const seconds = (ms: number): number => Math.round(ms / 1000)
  return [
    OVERLOAD_HEADING,
    `Measured on ${now.toISOString().slice(0, 10)}; \`npm run bench:cluster -- --overload --write\` measures only this part. The cluster has one replica of each service, and a block each second. Eight buyers each pay as soon as they have an invoice, and then buy again. The capacity is the rate at which the cluster sells channels to them: ${capacityPerSecond.toFixed(2)} per second. Then an open loop places orders at multiples of the capacity, for ${loadSeconds} s each. In the table, \`times\` is the multiple of the capacity, and \`due\` is the number of orders that the loop had to place. All times count from the moment at which an order or a query was due.`,
    renderLoads(report),
    '![Sales, refusals and latencies by the multiple of the capacity](images/overload.svg)',
    'After the heaviest load, one buyer asks for an invoice each second and never pays. The market has recovered with the first of five orders in a row that each get their invoice in less than twice the p50 of the lightest load.',
    `For the CPU of a refused purchase, the service quote is stopped for some seconds. The admitted purchases wait meanwhile, and the gateway refused ${refusals.refused.toLocaleString('en')} more.`,
    renderGoals(report),
    '### CPU of an order',
    `The idle cluster was measured for ${seconds(cpu.idle.wallMs)} s. The orders are those of the lightest load: ${cpu.sold} were sold, and with their payouts and the final checks of the load it took ${seconds(cpu.load.wallMs)} s. The CPU includes child processes. \`npm run bench:cluster -- --profile\` prints it by function.`,
    renderCpu(report),
  ].join('\n\n')
}

export function renderOverloadPlot({ loads }: OverloadReport): string {
  const line = (name: string, value: (load: OverloadResult) => number | null): PlotSeries => ({
    name,
    points: loads.flatMap((load) => {
      const y = value(load)
      return y === null ? [] : [[load.factor, y] as const]
    }),
  })
  const panels = [
    {
      title: 'Orders',
      unit: 'per second',
      series: [
        line('due', ({ perSecond }) => perSecond),
        line('sold', ({ goodput }) => goodput),
        line('refused', ({ perSecond, refused, due }) => (due === 0 ? 0 : (perSecond * refused) / due)),
      ],
    },
    {
      title: 'Time to an invoice',
      unit: 'ms',
      series: [line('p50', ({ buyP50Ms }) => buyP50Ms), line('p99', ({ buyP99Ms }) => buyP99Ms)],
    },
    {
      title: 'p99 of quick answers',
      unit: 'ms',
      series: [line('refused buy', ({ refusal }) => refusal.p99Ms), line('get_order', ({ getOrder }) => getOrder.p99Ms)],
    },
  ]
  return renderPlot(
    panels.filter(({ series }) => series.some(({ points }) => points.length > 0)),
    'multiple of the capacity',
  )
}
