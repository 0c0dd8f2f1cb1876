import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkAll, isAsExpected } from './check-all.ts'
import { fastSet } from './configurations.ts'
import { jar, noTlc } from './program.ts'
import { check, type Outcome } from './tlc.ts'
import { traceOf } from './trace.ts'

describe.skipIf(noTlc)('the model of the money protocol', () => {
  const stop = new AbortController()
  const outcomes = new Map(fastSet.map(({ name }) => [name, Promise.withResolvers<Outcome>()]))

  beforeAll(() => {
    const path = jar()
    void checkAll(
      fastSet,
      availableParallelism(),
      (configuration) => check(path, configuration, stop.signal),
      ({ configuration, outcome }) => outcomes.get(configuration.name)?.resolve(outcome),
      stop.signal,
    )
  })
  afterAll(() => stop.abort())

  it.each(fastSet)('$name gives $expected', async (configuration) => {
    const outcome = await outcomes.get(configuration.name)?.promise
    expect(outcome).toBeDefined()
    if (!outcome || isAsExpected({ configuration, outcome })) return
    const { result, output } = outcome
    const detail = result === 'error' ? output.trim() : traceOf(output).join('\n')
    expect.fail(`${configuration.about} Expected ${configuration.expected}, found ${result}.\n${detail}`)
  })
})
