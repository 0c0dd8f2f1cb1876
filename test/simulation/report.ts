import { execFileSync } from 'node:child_process'
import { allEdges } from './edges.ts'
import { NETWORK_EVERY, VIEWS_EVERY } from './invariants.ts'
import { OCCASIONS } from './reached.ts'
import { MOMENTS, type Tally } from './tally.ts'
import { unreachable } from './unreachable.ts'
import { LOOK_EVERY_MS } from './watches.ts'

/** From so many seeds on everything there is has to be reached, and the report is written. */
export const WHOLE = 10_000

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
  const machines = [...new Set(allEdges.map((edge) => edge.slice(0, edge.indexOf(':'))))]
  const timesOf = (name: string) => [name.slice(name.indexOf(': ') + 1).trim(), number(faults.get(name) ?? 0)]
  const edgeRows = (machine: string) =>
    allEdges
      .filter((edge) => edge.startsWith(`${machine}: `))
      .map((edge) => [`\`${edge.slice(machine.length + 2)}\``, unreachable[edge] ?? number(edges.get(edge) ?? 0)])
  return `# Simulation: what was reached

All services, two processes of each, three sellers with their agents, buyers, operators and a Lightning network run in one
process on a simulated clock. The seed decides everything: what people do, what goes wrong, who dies at which call, and in
which order things happen.

- After every step: nobody touched the real clock, no process ended by itself, no rejection was unheard, nothing is parked;
  and where facts were appended, each is folded and checked with its hashes, and money is compared with what the simulated
  network itself knows.
- Every ${NETWORK_EVERY} steps: money once more where the network has changed meanwhile without a fact.
- Every ${LOOK_EVERY_MS} ms of simulated time: no hold has passed its height while a guard stood.
- Every ${VIEWS_EVERY} steps: no read model knows what nobody has appended.
- Once the faults stop everything has to come to rest; then money, ledger, streams and read models are compared, whole.

- Seeds ${number(from)} to ${number(from + seeds - 1)}, at the commit of ${date()}: ${number(tally.steps())} steps, ${number(Math.round(tally.virtualMs() / 3_600_000))} hours of simulated time.
- Repeat: \`npm run simulate -- --seeds ${seeds} --from ${from}\`. One seed: \`npm run simulate -- --seed ${from} --trace\`.
- Anything of these tables that was never reached fails a run of ${number(WHOLE)} seeds and more.

## How orders ended

${table(
  ['status', 'orders'],
  [...statuses].toSorted(([, a], [, b]) => b - a).map(([status, count]) => [status, number(count)]),
)}

## What went wrong, and what was done

Counted where it happened, not where it was planned.

${Object.entries(OCCASIONS)
  .map(([subject, names]) => `### ${subject}\n\n${table(['what', 'times'], names.map(timesOf))}`)
  .join('\n\n')}

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
