import { contractOf } from '@penstock/contracts/contracts.ts'
import type { ProcessStep } from '@penstock/kernel/process.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'
import { type Aggregate, type Event, isSentUntilHandled } from '@penstock/runtime/service.ts'
import { foldStoredEvent, emptyStream, type LoadedStream } from '@penstock/runtime/commands/stream-cache.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'

/** The commands, effects and deadlines that the process of a stream derives from its state. */
export type PendingSteps = { readonly stream: string; readonly state: unknown; readonly steps: readonly ProcessStep[] }

type StreamStates = ReadonlyMap<string, { readonly state: unknown }>

/**
 * Whether a step still has to be done. A command that is sent once needs no repetition as soon as its stream exists. A command
 * that is sent until it is handled needs none if it would change nothing at its receiver.
 */
export function isPending(
  { sentUntilHandled }: Aggregate<never>,
  step: ProcessStep,
  folds: StreamStates,
  aggregateOf: (stream: string) => Aggregate<never>,
): boolean {
  if (step.kind !== 'command') return true
  const stream = `${step.category}-${step.id}`
  const receiver = folds.get(stream)
  if (!receiver) return true
  if (step.isSentOnce) return false
  if (!isSentUntilHandled(sentUntilHandled, step)) return true
  try {
    const decision = aggregateOf(stream).decider.decide(receiver.state, { id: step.step, at: 0, ...step.command })
    return 'refused' in decision || decision.facts.length > 0
  } catch (error) {
    // The decision needs data from outside the stream, so it would change something.
    if (error instanceof TypeError) return true
    throw error
  }
}

/** The states of all streams of an event store. `catchUp` reads and folds new facts, also while the market runs. */
export type Fold = {
  readonly stored: readonly StoredEvent[]
  /** The same facts, parsed and upcast as reactions and read models receive them. */
  readonly events: readonly Event[]
  catchUp(): Promise<void>
  state(stream: string): unknown
  pendingSteps(): readonly PendingSteps[]
  close(): Promise<void>
}

const PAGE_SIZE = 1000

/** @param dataDir a folder in which a market has started before */
export const openFold = (dataDir: string): Fold => createFold(openLocalStore(dataDir))

export function createFold(store: Pick<EventStore, 'readAll' | 'close'>): Fold {
  const aggregates = new Map(
    createStreamServices()
      .flatMap((service) => service.aggregates)
      .map((one) => [one.contract.category, one]),
  )
  const aggregateOf = (stream: string): Aggregate<never> => {
    const aggregate = aggregates.get(categoryOf(stream))
    if (!aggregate) throw new Error(`no service owns ${stream}`)
    return aggregate
  }
  const folds = new Map<string, LoadedStream>()
  const stored: StoredEvent[] = []
  const events: Event[] = []
  return {
    stored,
    events,
    async catchUp() {
      for (;;) {
        const page = await store.readAll(stored.at(-1)?.position ?? 'start', PAGE_SIZE)
        for (const event of page) {
          const aggregate = aggregateOf(event.stream)
          folds.set(event.stream, foldStoredEvent(aggregate, folds.get(event.stream) ?? emptyStream(aggregate), event))
          stored.push(event)
          events.push(readEvent(contractOf(categoryOf(event.stream)), event))
        }
        if (page.length === 0) return
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
    close: () => store.close(),
  }
}
