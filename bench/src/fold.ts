import { setImmediate as nextTurn } from 'node:timers/promises'
import { fold as foldWith } from '@penstock/kernel/decider.ts'
import { orderMachine } from '@penstock/order/order.machine.ts'
import { order, orderLifecycle } from '@penstock/order/order.ts'
import { getInitialSnapshot, transition } from 'xstate'
import { compare, perSecond, type Size, type Subject } from './harness.ts'
import { histories } from './histories.ts'

const ROUNDS = 15
const FACTS = histories.reduce((count, { length }) => count + length, 0)
/** How often all histories are folded in a round; together some tens of milliseconds, whatever folds them. */
const TIMES = { table: 100_000, evolve: 6000, transition: 100 }

/** Only the status, by XState's own pure function, which makes a snapshot for every fact. */
const byTransition = (): readonly string[] =>
  histories.map((facts) => {
    let snapshot = getInitialSnapshot(orderMachine)
    for (const { type } of facts) [snapshot] = transition(orderMachine, snapshot, { type })
    return snapshot.value as string // a flat machine's value is its status
  })

/** Only the status, by the table that is compiled of the same machine. */
const byTable = (): readonly string[] =>
  histories.map((facts) => {
    let status = orderLifecycle.initial
    for (const { type } of facts) status = orderLifecycle.after(status, type) ?? fail(type, status)
    return status
  })

/** The whole order: attempts, hold, outpoints and payouts beside the status. */
const byEvolve = (): readonly string[] => histories.map((facts) => foldWith(order, facts).status)

/** Order histories folded with the compiled table, beside the same facts through `transition()`. */
export const fold: Subject = {
  name: 'fold',
  async run({ isQuick }: Size) {
    const wanted = byTransition().join()
    const times = isQuick ? { table: 2, evolve: 2, transition: 2 } : TIMES
    const rounds = isQuick ? 1 : ROUNDS
    const rate = (foldAll: () => readonly string[], often: number) => async () => {
      await nextTurn()
      let last: readonly string[] = []
      const facts = await perSecond(often * FACTS, () => {
        for (let n = 0; n < often; n++) last = foldAll()
      })
      if (last.join() !== wanted) throw new Error(`folded to ${last.join()}, not to ${wanted}`)
      return [facts]
    }
    const reference = { name: "the statuses alone by XState's transition()", measure: rate(byTransition, times.transition) }
    const table = rate(byTable, times.table)
    const evolve = rate(byEvolve, times.evolve)
    // The code is compiled when the measuring begins.
    for (let n = 0; n < 3; n++) for (const measure of [reference.measure, table, evolve]) await measure()
    return [
      ...(await compare({
        rows: [{ what: 'fold, statuses by the table', unit: 'facts/s', target: 30 }],
        measure: table,
        reference,
        rounds,
      })),
      ...(await compare({
        rows: [{ what: 'fold, whole orders', unit: 'facts/s', target: 30 }],
        measure: evolve,
        reference,
        rounds,
      })),
    ]
  },
}

function fail(type: string, status: string): never {
  throw new Error(`${type} cannot follow ${status}`)
}
