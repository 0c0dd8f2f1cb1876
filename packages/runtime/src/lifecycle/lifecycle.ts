import { type AnyStateMachine, getInitialSnapshot, transition } from 'xstate'

export type Lifecycle<Status extends string, Type extends string> = {
  readonly initial: Status
  /** @returns the status after a fact of this type, or undefined if the machine has no such edge */
  readonly after: (status: Status, type: Type) => Status | undefined
  /** Every edge, for diagrams and tests. */
  readonly edges: readonly (readonly [Status, Type, Status])[]
}

/**
 * Compiles a flat machine into a table with XState's own `transition()`. The machine remains the only definition, and the
 * fold of a fact costs two look-ups.
 */
export function compileLifecycle<Status extends string, Type extends string>(machine: AnyStateMachine): Lifecycle<Status, Type> {
  const table = new Map<string, Map<string, Status>>()
  const edges: [Status, Type, Status][] = []
  for (const status of Object.keys(machine.states)) {
    const row = new Map<string, Status>()
    const here = machine.resolveState({ value: status, context: {} })
    for (const type of machine.events as readonly string[]) {
      if (!here.can({ type })) continue
      const [next] = transition(machine, here, { type }) as [{ readonly value: unknown }, unknown]
      // The value of a flat machine is its status, and its keys are the caller's statuses.
      row.set(type, next.value as Status)
      edges.push([status as Status, type as Type, next.value as Status])
    }
    table.set(status, row)
  }
  return {
    initial: getInitialSnapshot(machine).value as Status, // As above
    after: (status, type) => table.get(status)?.get(type),
    edges,
  }
}
