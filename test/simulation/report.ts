import { orderStatuses } from '@penstock/kernel/order-status.ts'
import { allEdges } from './edges.ts'
import { LOOKS, NETWORK_EVERY, VIEWS_EVERY } from './invariants.ts'
import { OCCASIONS } from './reached.ts'
import { isWhole, type Run } from './run-seeds.ts'
import { MOMENTS } from './tally.ts'
import { unreachable } from './unreachable.ts'
import { LOOK_EVERY_MS } from './watches.ts'

/** From so many seeds on everything there is has to be reached, and the report is written. */
export const WHOLE = 10_000

/** Whether all seeds that were asked for have run and none has failed; and, from so many seeds on, nothing was left out. */
export const hasPassed = (run: Run): boolean =>
  run.failed.length === 0 && isWhole(run) && (run.count < WHOLE || run.sums.missing().length === 0)

/** An order that was never placed: its quote was made, or its money asked for, and nothing followed. */
const NO_ORDER = 'no order'
/** Everything that can have become of an order, and whatever else was seen. */
const statusesOf = (seen: Iterable<string>): readonly string[] => [...new Set([...orderStatuses, NO_ORDER, ...seen])]

/** When and with which code a run was made. */
type Made = { readonly commit: string; readonly on: Date }

const number = (count: number): string => count.toLocaleString('en')
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

/** docs/simulation.md: what the simulated market met, in all the seeds that were run. */
export function report({ from, sums, failed }: Run, { commit, on }: Made): string {
  const { faults, edges, statuses, points } = sums
  const seeds = sums.seeds()
  const gaps = sums.missing()
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

- After every step: nobody touched the real clock, no process ended by itself, no rejection was unheard, nobody was answered
  with a mistake of the program, nothing is parked; and where facts were appended, each is folded and checked with its hashes,
  an incident that was noted has a cause in the network, and money is compared with what the simulated network itself knows.
- Every ${NETWORK_EVERY} steps: money once more where the network has changed meanwhile without a fact.
- Every ${LOOK_EVERY_MS} ms of simulated time: no hold has passed its height while a guard stood. Payments that the market's own
  node holds and that were to be taken or given back, or are at their last height, have ended in time, whatever the streams say.
- Every ${VIEWS_EVERY} steps, or at the next one at which nobody's transaction is open: no read model knows what nobody has
  appended, ${number(faults.get(LOOKS) ?? 0)} looks in all.
- What is looked at less often than after every step reads the network, the holds or the read models whole, which would take
  longer than the step itself.
- Once the faults stop everything has to come to rest; then money, ledger, streams and read models are compared, whole. In one
  seed of four a new seller comes then, and one more channel is sold and paid for.

- ${number(seeds)} seeds from ${number(from)} on, run on ${on.toISOString().slice(0, 10)} with the code of commit ${commit}: ${number(sums.steps())} steps, ${number(Math.round(sums.virtualMs() / 3_600_000))} hours of simulated time.
- ${failed.length === 0 ? 'No seed failed.' : `${number(failed.length)} failed: ${failed.map(({ plan, broken }) => `seed ${plan.seed} (${broken?.invariant})`).join(', ')}.`}
- ${gaps.length === 0 ? 'Everything there is was reached.' : `${number(gaps.length)} things were not reached: ${gaps.join('; ')}.`}
- Repeat: \`npm run simulate -- --seeds ${seeds} --from ${from}\`. One seed: \`npm run simulate -- --seed ${from} --trace\`.
- Anything of these tables that was never reached fails a run of ${number(WHOLE)} seeds and more.

## How orders ended

${table(
  ['status', 'orders'],
  statusesOf(statuses.keys())
    .map((status) => [status, statuses.get(status) ?? 0] as const)
    .toSorted(([, a], [, b]) => b - a)
    .map(([status, count]) => [status, number(count)]),
)}

## What went wrong, and what was done

Counted where it happened, not where it was planned.

${Object.entries(OCCASIONS)
  .map(([subject, names]) => `### ${subject}\n\n${table(['what', 'times'], names.map(timesOf))}`)
  .join('\n\n')}

## Deaths

A process dies before its call is carried out, or after it and before its answer; a death after a call that failed is neither.
What was on its way may come to its server after the death of who sent it (\`…Orphan\` above), and what was given up after its
sender has gone on (\`…Late\`).

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
