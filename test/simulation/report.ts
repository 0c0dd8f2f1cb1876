import { execFileSync } from 'node:child_process'
import { allEdges } from './edges.ts'
import { MOMENTS, type Tally } from './tally.ts'
import { unreachable } from './unreachable.ts'

const date = (): string => {
  try {
    return execFileSync('git', ['log', '-1', '--format=%cs'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
const number = (count: number): string => count.toLocaleString('en')
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

/** docs/simulation.md: what the simulated market met. */
export function report(tally: Tally, { from, seeds }: { readonly from: number; readonly seeds: number }): string {
  const { faults, edges, statuses, points } = tally
  const struck = [...faults].filter(([name]) => !name.startsWith('killed ')).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const machines = [...new Set(allEdges.map((edge) => edge.slice(0, edge.indexOf(':'))))]
  const edgeRows = (machine: string) =>
    allEdges
      .filter((edge) => edge.startsWith(`${machine}: `))
      .map((edge) => [`\`${edge.slice(machine.length + 2)}\``, unreachable[edge] ?? number(edges.get(edge) ?? 0)])
  return `# Simulation: what was reached

All services, two processes of each, three sellers with their agents, buyers, operators and a Lightning network run in one
process on a simulated clock. The seed decides everything: what people do, what goes wrong, who dies at which call, and in
which order things happen. After every step what can hold then is checked; once the faults stop everything has to come to
rest, and then money, ledger, streams and read models are compared with what the simulated network itself knows.

- Seeds ${number(from)} to ${number(from + seeds - 1)}, at the commit of ${date()}: ${number(tally.steps())} steps, ${number(Math.round(tally.virtualMs() / 3_600_000))} hours of simulated time.
- Repeat: \`npm run simulate -- --seeds ${seeds} --from ${from}\`. One seed: \`npm run simulate -- --seed ${from} --trace\`.
- A fault, a place to die at, or an edge that was never reached fails such a run.

## How orders ended

${table(
  ['status', 'orders'],
  [...statuses].toSorted(([, a], [, b]) => b - a).map(([status, count]) => [status, number(count)]),
)}

## Faults

${table(
  ['fault', 'times'],
  struck.map(([name, count]) => [name, number(count)]),
)}

## Deaths

A process dies before its call is carried out, or after it and before its answer.

${table(
  ['call', ...MOMENTS],
  [...points]
    .toSorted()
    .map((point) => [`\`${point}\``, ...MOMENTS.map((moment) => number(faults.get(`killed ${moment} ${point}`) ?? 0))]),
)}

## Edges of the machines

${machines.map((machine) => `### ${machine}\n\n${table(['edge', 'times'], edgeRows(machine))}`).join('\n\n')}
`
}
