import { systemClock } from '@penstock/adapters/system/clock.ts'
import { contractOf } from '@penstock/contracts/all.ts'
import type { Next } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { openAnywhere, openStored } from '@penstock/platforms/stored.ts'
import { aggregateIdOf, categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { persist } from '@penstock/runtime/backoff.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import type { Aggregate, Event } from '@penstock/runtime/service.ts'
import { afterStored, emptyStream, type Loaded } from '@penstock/runtime/streams.ts'
import { audited } from '@penstock/standalone/services.ts'

/** What a stream still asks for. */
export type Asking = { readonly stream: string; readonly state: unknown; readonly steps: readonly Next[] }

/** All streams of a data folder, folded by today's code; kept up while the market runs, and through its deaths. */
export type Fold = {
  readonly stored: readonly StoredEvent[]
  /** The same facts as reactions and read models get them. */
  readonly events: readonly Event[]
  catchUp(): Promise<void>
  state(stream: string): unknown
  asking(): readonly Asking[]
  close(): Promise<void>
}

const PAGE = 1000
const AWAY_MS = 60_000

/** @param dataDir in which a market has been started before */
export const openFold = (dataDir: string): Fold => foldOver(openStored(dataDir))

/** The same of a folder whose facts are in a server, which may be away for a while. */
export async function openFoldOfServer(dataDir: string): Promise<Fold> {
  const store = await openAnywhere(dataDir)
  const fold = foldOver({
    close: () => store.close(),
    readAll: (...asked) =>
      persist(
        systemClock,
        AbortSignal.timeout(AWAY_MS),
        () => store.readAll(...asked),
        (error) => error instanceof Fault,
      ),
  })
  // Several ask at once, and none may fold a page that another one folds.
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...fold,
    catchUp() {
      const mine = last.then(() => fold.catchUp())
      last = mine.catch(() => undefined)
      return mine
    },
  }
}

/** The same over any store. */
export function foldOver(store: Pick<EventStore, 'readAll' | 'close'>): Fold {
  const aggregates = new Map(
    audited()
      .flatMap((service) => service.aggregates)
      .map((one) => [one.contract.category, one]),
  )
  const aggregateOf = (stream: string): Aggregate<never> => {
    const found = aggregates.get(categoryOf(stream))
    if (!found) throw new Error(`no service owns ${stream}`)
    return found
  }
  const folds = new Map<string, Loaded>()
  const stored: StoredEvent[] = []
  const events: Event[] = []
  return {
    stored,
    events,
    async catchUp() {
      for (;;) {
        const page = await store.readAll(stored.at(-1)?.position ?? 'start', PAGE)
        for (const event of page) {
          const aggregate = aggregateOf(event.stream)
          folds.set(event.stream, afterStored(aggregate, folds.get(event.stream) ?? emptyStream(aggregate), event))
          stored.push(event)
          events.push(eventOf(contractOf(categoryOf(event.stream)), event))
        }
        if (page.length === 0) return
      }
    },
    state: (stream) => folds.get(stream)?.state,
    asking: () =>
      [...folds].flatMap(([stream, { state }]) => {
        const steps = aggregateOf(stream).process?.(state, aggregateIdOf(stream)) ?? []
        return steps.length === 0 ? [] : [{ stream, state, steps }]
      }),
    close: () => store.close(),
  }
}
