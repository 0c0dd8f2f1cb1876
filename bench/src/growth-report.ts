import { machine } from './machine.ts'
import { plot } from './plot.ts'
import type { Used } from './probed.ts'
import type { Reference } from './reference-work.ts'

/** Where the market was when so many orders were finished; times and CPU since its start, bytes of its files. */
export type Sample = Used & {
  readonly orders: number
  readonly atMs: number
  /** What the reference had taken by then. */
  readonly reference: Reference
  readonly bytes: { readonly market: number; readonly views: number; readonly others: number }
}

/** What an order cost between two samples. */
type Cost = {
  readonly cpuMs: number
  readonly wallMs: number
  readonly bytes: number
  /** What one run of the reference took meanwhile. */
  readonly referenceMs: number
}

const MARKS = [1000, 10_000, 30_000]
const WITHIN = 1.2
/** So many orders around a mark are looked at; one sample alone shows the moment. */
const AROUND = 1000

const sum = ({ bytes }: Sample): number => bytes.market + bytes.views + bytes.others

function costBetween(before: Sample, after: Sample): Cost {
  const orders = after.orders - before.orders
  return {
    cpuMs: (after.cpuMs - before.cpuMs) / orders,
    wallMs: (after.atMs - before.atMs) / orders,
    bytes: (sum(after) - sum(before)) / orders,
    referenceMs: (after.reference.cpuMs - before.reference.cpuMs) / (after.reference.runs - before.reference.runs),
  }
}

const nearest = (samples: readonly Sample[], orders: number): Sample =>
  samples.reduce((best, one) => (Math.abs(one.orders - orders) < Math.abs(best.orders - orders) ? one : best))

type AtMark = { readonly mark: number; readonly cost: Cost; readonly at: Sample }

const COLUMNS: readonly {
  readonly name: string
  readonly of: (row: AtMark) => number
  readonly text: (row: AtMark) => string
}[] = [
  { name: 'CPU an order', of: ({ cost }) => cost.cpuMs / cost.referenceMs, text: ({ cost }) => times(cost.cpuMs, cost) },
  { name: 'wall clock an order', of: ({ cost }) => cost.wallMs / cost.referenceMs, text: ({ cost }) => times(cost.wallMs, cost) },
  { name: 'on disk an order', of: ({ cost }) => cost.bytes, text: ({ cost }) => `${(cost.bytes / 1024).toFixed(1)} KiB` },
  { name: 'heap', of: ({ at }) => at.heapUsed, text: ({ at }) => `${(at.heapUsed / 2 ** 20).toFixed(0)} MiB` },
  { name: 'resident', of: ({ at }) => at.rss, text: ({ at }) => `${(at.rss / 2 ** 20).toFixed(0)} MiB` },
]

const times = (ms: number, { referenceMs }: Cost): string =>
  `${ms.toFixed(1)} ms, ${(ms / referenceMs).toFixed(2)} × ${referenceMs.toFixed(1)} ms`

function atMarks(samples: readonly Sample[]): readonly AtMark[] {
  const last = samples.at(-1)?.orders ?? 0
  return MARKS.filter((mark) => mark <= last).map((mark) => {
    // The last orders come to their end without others behind them.
    const to = nearest(samples, Math.min(mark + AROUND / 2, last))
    return { mark, cost: costBetween(nearest(samples, to.orders - AROUND), to), at: nearest(samples, mark) }
  })
}

/** @returns for each column the greatest ratio to the first mark, and where it is; none where there is nothing to compare */
const growthOf = ([first, ...later]: readonly AtMark[]) =>
  COLUMNS.flatMap(({ name, of }) => {
    const ratios = first ? later.map((row) => ({ mark: row.mark, ratio: of(row) / of(first) })) : []
    const [worst] = ratios.toSorted((a, b) => b.ratio - a.ratio)
    return worst ? [{ name, ...worst, isFlat: worst.ratio <= WITHIN }] : []
  })

/** How the market grew: the page and its picture, whether all marks were reached, and a sentence for each column that is not flat. */
export type Growth = {
  readonly page: string
  readonly picture: string
  readonly isWhole: boolean
  readonly missed: readonly string[]
}

export function growthPage(samples: readonly Sample[], now = new Date()): Growth {
  const rows = atMarks(samples)
  const [first] = rows
  const growth = growthOf(rows)
  const lines = rows.map((row) =>
    [
      row.mark.toLocaleString('en'),
      ...COLUMNS.map(({ of, text }) => `${text(row)} (${first ? (of(row) / of(first)).toFixed(2) : ''})`),
    ].join(' | '),
  )
  const verdicts = growth.map(({ ratio, isFlat }) => `${isFlat ? 'held' : 'missed'}: ${ratio.toFixed(2)}`)
  if (verdicts.length > 0) lines.push([`at most ${WITHIN}`, ...verdicts].join(' | '))
  const page = `# What an order costs as the store grows

Measured on ${now.toISOString().slice(0, 10)} by \`npm run bench:growth\`, which writes this page.

Orders pass through the real standalone process, with its four sellers and the simulated network: bought and looked at
through the public interface, paid, opened, settled, paid out, and watched until a short lease has ended; then the simulated
nodes close the channel. The cost of an order is everything that this process used meanwhile, its sellers and the simulated
network included, over the ${AROUND.toLocaleString('en')} orders around each mark. The heap is what is left after a collection;
bytes on disk are those of the market's own files, without the simulated network's and without write-ahead logs, which have a
fixed size. Machines get slower and quicker over such a time: time is told in multiples of a reference beside it, which is always
the same work (\`bench/src/reference-work.ts\`: JSON, hashes, rows in SQLite), done once for every buyer that is through. In
brackets, the ratio to the first mark: flat means at most ${WITHIN}, and the last line says whether the greatest of each column is.

| finished orders | ${COLUMNS.map(({ name }) => name).join(' | ')} |
|---:|---:|---:|---:|---:|---:|
${lines.map((line) => `| ${line} |`).join('\n')}

![What an order costs, and memory, against finished orders](images/growth.svg)

| | |
|---|---|
${machine()
  .map(([what, value]) => `| ${what} | ${value} |`)
  .join('\n')}
`
  const missed = growth
    .filter(({ isFlat }) => !isFlat)
    .map(({ name, mark, ratio }) => `Not flat: ${name} is ${ratio.toFixed(2)} of the first mark at ${mark} orders.`)
  return { page, picture: pictureOf(samples), isWhole: rows.length === MARKS.length, missed }
}

function pictureOf(samples: readonly Sample[]): string {
  const costs = samples.slice(1).map((after, n) => ({ orders: after.orders, cost: costBetween(samples[n] as Sample, after) })) // as many
  const line = (name: string, value: (cost: Cost) => number) => ({
    name,
    points: costs.map(({ orders, cost }) => [orders, value(cost)] as const),
  })
  const memory = (name: string, value: (sample: Sample) => number) => ({
    name,
    points: samples.map((sample) => [sample.orders, value(sample) / 2 ** 20] as const),
  })
  return plot(
    [
      {
        title: 'Time an order',
        unit: 'times the reference',
        series: [
          line('CPU', ({ cpuMs, referenceMs }) => cpuMs / referenceMs),
          line('wall clock', ({ wallMs, referenceMs }) => wallMs / referenceMs),
        ],
      },
      { title: 'The reference', unit: 'ms', series: [line('CPU of one run', ({ referenceMs }) => referenceMs)] },
      { title: 'Bytes on disk an order', unit: 'KiB', series: [line('all files', ({ bytes }) => bytes / 1024)] },
      {
        title: 'Memory',
        unit: 'MiB',
        series: [memory('heap after a collection', ({ heapUsed }) => heapUsed), memory('resident', ({ rss }) => rss)],
      },
    ],
    'finished orders',
  )
}
