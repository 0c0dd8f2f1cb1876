import { contractOf } from '@penstock/contracts/all.ts'
import type { EventMemory } from '@penstock/adapters/memory/event-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import { aggregatesOf, checkedStep, type Folded, unfolded } from '@penstock/runtime/audit-fold.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'
import type { Asking } from '../faults/fold.ts'
import { type Edges, noteEdges } from './edges.ts'

/** A statement that has to hold and does not. */
export class Broken extends Error {
  override readonly name = 'Broken'
  readonly invariant: string
  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`)
    this.invariant = invariant
  }
}

/** Everything that was appended so far, folded by today's code and checked event by event. */
export type Ledger = {
  readonly events: readonly Event[]
  /** Takes in what is new. @throws Broken where a hash, a place or an edge is wrong */
  catchUp(): void
  state(stream: string): unknown
  asking(): readonly Asking[]
}

export function follow({ log }: EventMemory, edges: Edges): Ledger {
  const aggregates = aggregatesOf(audited())
  const folds = new Map<string, Folded>()
  const events: Event[] = []
  const aggregateOf = (stream: string) => {
    const found = aggregates.get(categoryOf(stream))
    if (!found) throw new Broken('owners', `no service owns ${stream}`)
    return found
  }
  return {
    events,
    catchUp() {
      for (let event = log[events.length]; event; event = log[events.length]) {
        const aggregate = aggregateOf(event.stream)
        const before = folds.get(event.stream) ?? unfolded(aggregate)
        const after = checkedStep(aggregate, before, event)
        if ('what' in after) throw new Broken('streams', `${event.stream} ${event.revision} ${event.type}: ${after.what}`)
        noteEdges(edges, categoryOf(event.stream), before.state, after.state, after.fact)
        folds.set(event.stream, after)
        events.push(eventOf(contractOf(categoryOf(event.stream)), event))
      }
    },
    state: (stream) => folds.get(stream)?.state,
    asking: () =>
      [...folds].flatMap(([stream, { state }]) => {
        const steps = aggregateOf(stream).process?.(state, aggregateIdOf(stream)) ?? []
        return steps.length === 0 ? [] : [{ stream, state, steps }]
      }),
  }
}
