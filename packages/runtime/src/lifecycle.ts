import { type AnyStateMachine, getInitialSnapshot, transition } from 'xstate'

export type Lifecycle<Status extends string, Type extends string> = {
  readonly initial: Status
  /** @returns the status after a fact of this type, or undefined where the machine has no such edge */
  readonly after: (status: Status, type: Type) => Status | undefined
  /** Every edge, for diagrams and tests. */
  readonly edges: readonly (readonly [Status, Type, Status])[]
}

/**
 * Compiles a flat machine into a table, once, with XState's own `transition()`: the machine stays the one definition,
 * and folding a fact costs two look-ups.
 */
export function compile<Status extends string, Type extends string>(machine: AnyStateMachine): Lifecycle<Status, Type> {
  const table = new Map<string, Map<string, Status>>()
  const edges: [Status, Type, Status][] = []
  for (const status of Object.keys(machine.states)) {
    const row = new Map<string, Status>()
    const here = machine.resolveState({ value: status, context: {} })
    for (const type of machine.events as readonly string[]) {
      if (!here.can({ type })) continue
      const [next] = transition(machine, here, { type }) as [{ readonly value: unknown }, unknown]
      // A flat machine's value is its status, and its keys are the statuses that the caller names.
      row.set(type, next.value as Status)
      edges.push([status as Status, type as Type, next.value as Status])
    }
    table.set(status, row)
  }
  return {
    initial: getInitialSnapshot(machine).value as Status, // as above
    after: (status, type) => table.get(status)?.get(type),
    edges,
  }
}
