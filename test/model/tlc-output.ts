import type { ModelConfiguration } from './configuration.ts'

/** The result of TLC: `holds`, the violated property, or `error` if TLC did not complete the search. */
export type TlcOutcome = {
  readonly result: string
  /** Counts of generated and distinct states, and the depth of the search; undefined if TLC printed none. */
  readonly generated?: number
  readonly distinct?: number
  readonly depth?: number
  readonly seconds: number
  /** Everything that TLC printed, with the trace of a violation. */
  readonly output: string
}

/** Parses TLC's output. TLC does not name a violated liveness property, so the result is then the list of checked properties. */
export function readOutput(
  output: string,
  { properties }: Pick<ModelConfiguration, 'properties'>,
): Omit<TlcOutcome, 'seconds' | 'output'> {
  const [, generated, distinct] =
    [...output.matchAll(/([\d,]+) states generated.*?, ([\d,]+) distinct states found/g)].at(-1) ?? []
  const depth = /depth of the complete state graph search is (\d+)/.exec(output)?.[1]
  const counts = {
    ...(generated !== undefined && { generated: parseCount(generated) }),
    ...(distinct !== undefined && { distinct: parseCount(distinct) }),
    ...(depth !== undefined && { depth: parseCount(depth) }),
  }
  const violatedProperty = /Error: (?:Invariant|Action property|Property) (\w+) is violated/.exec(output)?.[1]
  if (violatedProperty !== undefined) return { result: violatedProperty, ...counts }
  if (output.includes('Temporal properties were violated')) return { result: properties.join(', '), ...counts }
  // TLC prints both lines only if it completed the search without an error.
  const isComplete = output.includes('Model checking completed. No error has been found.') && depth !== undefined
  return { result: isComplete ? 'holds' : 'error', ...counts }
}

const parseCount = (text: string): number => Number(text.replaceAll(',', ''))
