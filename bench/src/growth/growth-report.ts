import { renderMachineTable } from '../machine.ts'
import { renderPlot } from './svg-plot.ts'
import type { ProcessUsage } from '../process-usage.ts'
import type { ReferenceUsage } from './reference-workload.ts'

/** A sample after `orders` finished orders: time and CPU since the start (ms), memory, and bytes of the market's files. */
export type GrowthSample = ProcessUsage & {
  readonly orders: number
  readonly atMs: number
  /** Runs and CPU of the reference workload up to this sample. */
  readonly reference: ReferenceUsage
  readonly bytes: { readonly market: number; readonly views: number; readonly others: number }
}

/** The mean cost of one order between two samples. */
type OrderCost = {
  readonly cpuMs: number
  readonly wallMs: number
  readonly bytes: number
  /** CPU of one run of the reference workload between the samples. */
  readonly referenceMs: number
}

const MARKS = [1000, 10_000, 30_000]
const MAX_RATIO = 1.2
/** The number of orders around a mark. Its figures are the mean cost of these orders, because single samples vary too much. */
const MARK_WINDOW = 1000

const sumBytes = ({ bytes }: GrowthSample): number => bytes.market + bytes.views + bytes.others

function computeCost(before: GrowthSample, after: GrowthSample): OrderCost {
  const orders = after.orders - before.orders
  return {
    cpuMs: (after.cpuMs - before.cpuMs) / orders,
    wallMs: (after.atMs - before.atMs) / orders,
    bytes: (sumBytes(after) - sumBytes(before)) / orders,
    referenceMs: (after.reference.cpuMs - before.reference.cpuMs) / (after.reference.runs - before.reference.runs),
  }
}

const findNearest = (samples: readonly GrowthSample[], orders: number): GrowthSample =>
  samples.reduce((nearestSample, one) =>
    Math.abs(one.orders - orders) < Math.abs(nearestSample.orders - orders) ? one : nearestSample,
  )

type MarkRow = { readonly mark: number; readonly cost: OrderCost; readonly at: GrowthSample }

const COLUMNS: readonly {
  readonly name: string
  readonly of: (row: MarkRow) => number
  readonly text: (row: MarkRow) => string
}[] = [
  { name: 'CPU per order', of: ({ cost }) => cost.cpuMs / cost.referenceMs, text: ({ cost }) => formatTimes(cost.cpuMs, cost) },
  {
    name: 'wall clock per order',
    of: ({ cost }) => cost.wallMs / cost.referenceMs,
    text: ({ cost }) => formatTimes(cost.wallMs, cost),
  },
  { name: 'on disk per order', of: ({ cost }) => cost.bytes, text: ({ cost }) => `${(cost.bytes / 1024).toFixed(1)} KiB` },
  { name: 'heap', of: ({ at }) => at.heapUsed, text: ({ at }) => `${(at.heapUsed / 2 ** 20).toFixed(0)} MiB` },
  { name: 'resident', of: ({ at }) => at.rss, text: ({ at }) => `${(at.rss / 2 ** 20).toFixed(0)} MiB` },
]

const formatTimes = (ms: number, { referenceMs }: OrderCost): string =>
  `${ms.toFixed(1)} ms, ${(ms / referenceMs).toFixed(2)} × ${referenceMs.toFixed(1)} ms`

function computeMarkRows(samples: readonly GrowthSample[]): readonly MarkRow[] {
  const last = samples.at(-1)?.orders ?? 0
  return MARKS.filter((mark) => mark <= last).map((mark) => {
    // No orders follow the last mark, so its window ends there.
    const to = findNearest(samples, Math.min(mark + MARK_WINDOW / 2, last))
    return { mark, cost: computeCost(findNearest(samples, to.orders - MARK_WINDOW), to), at: findNearest(samples, mark) }
  })
}

/** @returns for each column the greatest ratio to the first mark, and its mark; empty if there are no later marks */
const computeGrowth = ([first, ...later]: readonly MarkRow[]) =>
  COLUMNS.flatMap(({ name, of }) => {
    const ratios = first ? later.map((row) => ({ mark: row.mark, ratio: of(row) / of(first) })) : []
    const [worst] = ratios.toSorted((a, b) => b.ratio - a.ratio)
    return worst ? [{ name, ...worst, isWithinLimit: worst.ratio <= MAX_RATIO }] : []
  })

/** The page and its picture, whether the run reached all marks, and a sentence for each column that is not flat. */
export type GrowthReport = {
  readonly page: string
  readonly picture: string
  readonly isWhole: boolean
  readonly missed: readonly string[]
}

export function renderGrowthReport(samples: readonly GrowthSample[], now = new Date()): GrowthReport {
  const rows = computeMarkRows(samples)
  const [first] = rows
  const growth = computeGrowth(rows)
  const lines = rows.map((row) =>
    [
      row.mark.toLocaleString('en'),
      ...COLUMNS.map(({ of, text }) => `${text(row)} (${first ? (of(row) / of(first)).toFixed(2) : ''})`),
    ].join(' | '),
  )
  const verdicts = growth.map(({ ratio, isWithinLimit }) => `${isWithinLimit ? 'held' : 'missed'}: ${ratio.toFixed(2)}`)
  if (verdicts.length > 0) lines.push([`at most ${MAX_RATIO}`, ...verdicts].join(' | '))
  const page = `# The cost of an order as the store grows

Measured on ${now.toISOString().slice(0, 10)} by \`npm run bench:growth\`, which writes this page.

Orders pass through the real standalone process, with its four sellers and the simulated network. They are bought and queried
through the public interface, paid, opened, settled, paid out, and watched until a short lease has ended. Then the simulated
nodes close the channel.

The cost of an order is everything that this process used meanwhile, including its sellers and the simulated network. It is a
mean of the ${MARK_WINDOW.toLocaleString('en')} orders around each mark. The heap is measured after a garbage collection.
Bytes on disk are those of the market's own files, without the simulated network's file and without write-ahead logs, which
have a fixed size.

A machine's speed varies in such a time, so times are multiples of a reference workload. It is always the same work
(\`bench/src/growth/reference-workload.ts\`: JSON, hashes, rows in SQLite), and runs once for every buyer that has finished.
The ratio to the first mark is in brackets. Flat means a ratio of at most ${MAX_RATIO}. The last line has the greatest ratio
of each column.

| finished orders | ${COLUMNS.map(({ name }) => name).join(' | ')} |
|---:|---:|---:|---:|---:|---:|
${lines.map((line) => `| ${line} |`).join('\n')}

![The cost of an order, and memory, by the number of finished orders](images/growth.svg)

${renderMachineTable()}
`
  const missed = growth
    .filter(({ isWithinLimit }) => !isWithinLimit)
    .map(({ name, mark, ratio }) => `Not flat: ${name} is ${ratio.toFixed(2)} of the first mark at ${mark} orders.`)
  return { page, picture: renderGrowthPlot(samples), isWhole: rows.length === MARKS.length, missed }
}

function renderGrowthPlot(samples: readonly GrowthSample[]): string {
  const costs = samples
    .slice(1)
    .map((after, n) => ({ orders: after.orders, cost: computeCost(samples[n] as GrowthSample, after) })) // index n is the previous sample
  const line = (name: string, value: (cost: OrderCost) => number) => ({
    name,
    points: costs.map(({ orders, cost }) => [orders, value(cost)] as const),
  })
  const memory = (name: string, value: (sample: GrowthSample) => number) => ({
    name,
    points: samples.map((sample) => [sample.orders, value(sample) / 2 ** 20] as const),
  })
  return renderPlot(
    [
      {
        title: 'Time per order',
        unit: 'times the reference',
        series: [
          line('CPU', ({ cpuMs, referenceMs }) => cpuMs / referenceMs),
          line('wall clock', ({ wallMs, referenceMs }) => wallMs / referenceMs),
        ],
      },
      { title: 'The reference', unit: 'ms', series: [line('CPU of one run', ({ referenceMs }) => referenceMs)] },
      { title: 'Bytes on disk per order', unit: 'KiB', series: [line('all files', ({ bytes }) => bytes / 1024)] },
      {
        title: 'Memory',
        unit: 'MiB',
        series: [memory('heap after a collection', ({ heapUsed }) => heapUsed), memory('resident', ({ rss }) => rss)],
      },
    ],
    'finished orders',
  )
}
