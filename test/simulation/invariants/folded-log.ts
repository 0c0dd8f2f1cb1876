import { contractOf } from '@penstock/contracts/contracts.ts'
import type { EventMemory } from '@penstock/adapters/memory/event-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import { indexAggregates, foldChecked, type FoldedStream, emptyFold } from '@penstock/audit/fold.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { isPending, type PendingSteps } from '../../support/invariants/fold.ts'
import { type TransitionCounts, countTransitions } from '../transitions/transition-coverage.ts'

export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation'
  readonly invariant: string
  constructor(invariant: string, violation: string) {
    super(`${invariant}: ${violation}`)
    this.invariant = invariant
  }
}

/** All facts that were appended so far. The services fold and check them. */
export type FoldedLog = {
  readonly events: readonly Event[]
  /** Folds the new facts. @throws InvariantViolation if a state hash, a revision or a transition is wrong */
  catchUp(): void
  state(stream: string): unknown
  pendingSteps(): readonly PendingSteps[]
}

export function createFoldedLog({ log }: EventMemory, transitions: TransitionCounts): FoldedLog {
  const aggregates = indexAggregates(createStreamServices())
  const folds = new Map<string, FoldedStream>()
  const events: Event[] = []
  const aggregateOf = (stream: string) => {
    const aggregate = aggregates.get(categoryOf(stream))
    if (!aggregate) throw new InvariantViolation('owners', `no service owns ${stream}`)
    return aggregate
  }
  return {
    events,
    catchUp() {
      for (let event = log[events.length]; event; event = log[events.length]) {
        const aggregate = aggregateOf(event.stream)
        const before = folds.get(event.stream) ?? emptyFold(aggregate)
        const after = foldChecked(aggregate, before, event)
        if ('what' in after)
          throw new InvariantViolation('streams', `${event.stream} ${event.revision} ${event.type}: ${after.what}`)
        countTransitions(transitions, categoryOf(event.stream), before.state, after.state, after.fact)
        folds.set(event.stream, after)
        events.push(readEvent(contractOf(categoryOf(event.stream)), event))
      }
    },
    state: (stream) => folds.get(stream)?.state,
    pendingSteps: () =>
      [...folds].flatMap(([stream, { state }]) => {
        const aggregate = aggregateOf(stream)
        const requested = aggregate.process?.(state, aggregateIdOf(stream)) ?? []
        const steps = requested.filter((step) => isPending(aggregate, step, folds, aggregateOf))
        return steps.length === 0 ? [] : [{ stream, state, steps }]
      }),
  }
}
