import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace'

export type PresetIds = {
  readonly generator: IdGenerator
  /** Runs `start` with these ids for the next span. `start` must start that span at once. */
  with<T>(ids: { readonly trace: string; readonly span?: string | undefined }, start: () => T): T
}

/**
 * Generates the ids of traces and spans. A trace id is derived from its order, and some span ids from their fact. So every
 * process can compute the parent of a span. All other ids are random.
 */
export function createPresetIds(): PresetIds {
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
