import { orderStatuses } from '@penstock/contracts/order/lifecycle.ts'
import { allTransitions } from './transitions/transition-coverage.ts'
import { VIEW_CHECKS, NETWORK_CHECK_STEPS, VIEW_CHECK_STEPS } from './invariants/invariants.ts'
import { OCCURRENCES } from './coverage.ts'
import { isComplete, type SeedRun } from './run-seeds.ts'
import { KILL_MOMENTS } from './seed-totals.ts'
import { unreachableTransitions } from './transitions/unreachable.ts'
import { HOLD_CHECK_INTERVAL_MS } from './invariants/hold-deadlines.ts'

/** A run of at least this many seeds is a full run: it has to cover every name, and writes the report. */
export const FULL_RUN_SEEDS = 10_000

/** Whether all requested seeds ran without a failure. A full run must also cover every name. */
export const hasPassed = (run: SeedRun): boolean =>
  run.failed.length === 0 && isComplete(run) && (run.count < FULL_RUN_SEEDS || run.totals.missing().length === 0)

/** The reported status of an id that has a quote or a hold but no placed order. */
const NO_ORDER = 'no order'
/** @returns all statuses of orders, and statuses of a run that the contract does not list */
const listStatuses = (seenStatuses: Iterable<string>): readonly string[] => [
  ...new Set([...orderStatuses, NO_ORDER, ...seenStatuses]),
]

type RunInfo = { readonly commit: string; readonly date: Date }

const formatNumber = (count: number): string => count.toLocaleString('en')
const formatTable = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

const formatKills = (crashPoints: Iterable<string>, faults: ReadonlyMap<string, number>): string =>
  formatTable(
    ['call', ...KILL_MOMENTS],
    [...crashPoints]
      .toSorted()
      .map((point) => [
        `\`${point}\``,
        ...KILL_MOMENTS.map((moment) => formatNumber(faults.get(`killed ${moment} ${point}`) ?? 0)),
      ]),
  )

/** @returns the text of docs/simulation.md with the coverage of all seeds of a run */
export function formatReport({ from, totals, failed }: SeedRun, { commit, date }: RunInfo): string {
  const { faults, transitions, statuses, crashPoints } = totals
  const seeds = totals.seeds()
  const missing = totals.missing()
  const machines = [...new Set(allTransitions.map((transition) => transition.slice(0, transition.indexOf(':'))))]
  const formatRow = (name: string) => [name.slice(name.indexOf(': ') + 1).trim(), formatNumber(faults.get(name) ?? 0)]
  const listTransitionRows = (machine: string) =>
    allTransitions
      .filter((transition) => transition.startsWith(`${machine}: `))
      .map((transition) => [
        `\`${transition.slice(machine.length + 2)}\``,
        unreachableTransitions[transition] ?? formatNumber(transitions.get(transition) ?? 0),
      ])
  return `# Simulation: what was reached

Two processes of each service, three sellers with their agents, buyers, operators and a Lightning network run in one process
on a simulated clock. The seed decides everything: the actions of people, the faults, the calls at which processes crash, and
the order of all steps.

- After every step: no code used the real clock, no process ended by itself, no rejected promise is unhandled, no answer was
  an internal error, and no message is parked. If facts were appended, each is folded and checked with its hashes, each
  recorded incident has a cause in the network, and money is compared with the state of the simulated network.
- Every ${NETWORK_CHECK_STEPS} steps: money is compared again if the network has changed without a fact.
- Every ${HOLD_CHECK_INTERVAL_MS} ms of simulated time: no hold has passed its height while a guard was running. Payments that the market's own
  node holds and that have to be settled or cancelled, or are at their last height, ended in time, independent of the streams.
- Every ${VIEW_CHECK_STEPS} steps, or at the next step without an open transaction: no read model contains a fact that no process
  appended (${formatNumber(faults.get(VIEW_CHECKS) ?? 0)} checks in all).
- The less frequent checks read the whole network, all holds or all read models, which takes longer than a step.
- After the faults have stopped all work has to end; then money, ledger, streams and read models are compared completely. In
  one seed of four a new seller then joins, and one more channel is sold and paid for.
- In three seeds of ten a team requests invoices and sends in a sandbox. At the end each transaction has ended once, as its caller
  chose and in time. One key made one transaction, no invoice was paid twice, and the wallet shows the sum of its transactions.

- ${formatNumber(seeds)} seeds from ${formatNumber(from)} on, run on ${date.toISOString().slice(0, 10)} with the code of commit ${commit}: ${formatNumber(totals.steps())} steps, ${formatNumber(Math.round(totals.virtualMs() / 3_600_000))} hours of simulated time.
- ${failed.length === 0 ? 'No seed failed.' : `${formatNumber(failed.length)} failed: ${failed.map(({ plan, violation }) => `seed ${plan.seed} (${violation?.invariant})`).join(', ')}.`}
- ${missing.length === 0 ? 'Everything there is was reached.' : `${formatNumber(missing.length)} names were not covered: ${missing.join('; ')}.`}
- Repeat: \`npm run simulate -- --seeds ${seeds} --from ${from}\`. One seed: \`npm run simulate -- --seed ${from} --trace\`.
- A run of ${formatNumber(FULL_RUN_SEEDS)} seeds or more fails if it did not cover every row of these tables.

## How orders ended

${formatTable(
  ['status', 'orders'],
  listStatuses(statuses.keys())
    .map((status) => [status, statuses.get(status) ?? 0] as const)
    .toSorted(([, a], [, b]) => b - a)
    .map(([status, count]) => [status, formatNumber(count)]),
)}

## What went wrong, and what was done

An occurrence is counted when it happens, not when it is planned.

${Object.entries(OCCURRENCES)
  .map(([subject, names]) => `### ${subject}\n\n${formatTable(['what', 'times'], names.map(formatRow))}`)
  .join('\n\n')}

## Deaths

A process crashes before its call is executed, or after the execution and before the answer. A crash after a failed call counts
as neither. A call can reach its server after its sender has crashed (\`…Orphan\` above), or after its sender has stopped
waiting and continued (\`…Late\`).

${formatKills(crashPoints, faults)}

## Edges of the machines

${machines.map((machine) => `### ${machine}\n\n${formatTable(['edge', 'times'], listTransitionRows(machine))}`).join('\n\n')}
`
}
