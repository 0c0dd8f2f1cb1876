import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace'

export type ChosenIds = {
  readonly generator: IdGenerator
  /** Starts one span under these ids. It must start it at once, since they are for the next one. */
  with<T>(ids: { readonly trace: string; readonly span?: string | undefined }, start: () => T): T
}

/**
 * The trace's id follows from the order, and some spans' from what they are about, so that whoever knows of the order or
 * the fact knows where a span hangs. All others are random.
 */
export function chosenIds(): ChosenIds {
  const random = new RandomIdGenerator()
  let next: { readonly trace: string; readonly span?: string | undefined } | undefined
  return {
    generator: {
      generateTraceId: () => next?.trace ?? random.generateTraceId(),
      generateSpanId: () => next?.span ?? random.generateSpanId(),
    },
    with(ids, start) {
      next = ids
      try {
        return start()
      } finally {
        next = undefined
      }
    },
  }
}
