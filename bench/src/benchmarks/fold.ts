import { setImmediate as nextTurn } from 'node:timers/promises'
import { fold as foldWith } from '@penstock/kernel/decider.ts'
import { orderMachine } from '@penstock/order/order.machine.ts'
import { orderDecider, orderLifecycle } from '@penstock/order/order.ts'
import { getInitialSnapshot, transition } from 'xstate'
import { compareToReference, measureRate, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { orderHistories } from './order-histories.ts'

const ROUNDS = 15
const FACTS = orderHistories.reduce((count, { length }) => count + length, 0)
/** How often one round folds all histories. A round then takes some tens of milliseconds with each method. */
const REPEATS = { table: 100_000, evolve: 6000, transition: 100 }

/** Folds only the status, by XState's own pure function, which creates a snapshot for every fact. */
const foldByTransition = (): readonly string[] =>
  orderHistories.map((facts) => {
    let snapshot = getInitialSnapshot(orderMachine)
    for (const { type } of facts) [snapshot] = transition(orderMachine, snapshot, { type })
    return snapshot.value as string // a flat machine's value is its status
  })

/** Folds only the status, by the table that is compiled from the same machine. */
const foldByTable = (): readonly string[] =>
  orderHistories.map((facts) => {
    let status = orderLifecycle.initial
    for (const { type } of facts) status = orderLifecycle.after(status, type) ?? failTransition(type, status)
    return status
  })

/** Folds the whole order: its status, attempts, hold, outpoints and payouts. */
const foldByEvolve = (): readonly string[] => orderHistories.map((facts) => foldWith(orderDecider, facts).status)

/** Compares the compiled table with XState's `transition()`, on the same order histories. */
export const foldBenchmark: Benchmark = {
  name: 'fold',
  async run({ isQuick }: BenchmarkSize) {
    const expected = foldByTransition().join()
    const repeatCounts = isQuick ? { table: 2, evolve: 2, transition: 2 } : REPEATS
    const rounds = isQuick ? 1 : ROUNDS
    const rate = (foldAll: () => readonly string[], repeats: number) => async () => {
      await nextTurn()
      let last: readonly string[] = []
      const facts = await measureRate(repeats * FACTS, () => {
        for (let n = 0; n < repeats; n++) last = foldAll()
      })
      if (last.join() !== expected) throw new Error(`folded to ${last.join()}, not to ${expected}`)
      return [facts]
    }
    const reference = {
      name: "the statuses alone by XState's transition()",
      measure: rate(foldByTransition, repeatCounts.transition),
    }
    const table = rate(foldByTable, repeatCounts.table)
    const evolve = rate(foldByEvolve, repeatCounts.evolve)
    // Lets V8 compile the code before the measurement.
    for (let n = 0; n < 3; n++) for (const measure of [reference.measure, table, evolve]) await measure()
    return [
      ...(await compareToReference({
        rows: [{ description: 'fold, statuses by the table', unit: 'facts/s', target: 30 }],
        measure: table,
        reference,
        rounds,
      })),
      ...(await compareToReference({
        rows: [{ description: 'fold, whole orders', unit: 'facts/s', target: 30 }],
        measure: evolve,
        reference,
        rounds,
      })),
    ]
  },
}

function failTransition(type: string, status: string): never {
  throw new Error(`${type} cannot follow ${status}`)
}
