import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkAll, isAsExpected } from './check-all.ts'
import { fastConfigurations } from './configurations.ts'
import { installJar, isTlcMissing } from './program.ts'
import type { TlcOutcome } from './tlc-output.ts'
import { runTlcCheck } from './tlc.ts'
import { formatTlcTrace } from './trace.ts'

describe.skipIf(isTlcMissing)('the model of the money protocol', () => {
  const stop = new AbortController()
  const outcomes = new Map(fastConfigurations.map(({ name }) => [name, Promise.withResolvers<TlcOutcome>()]))

  beforeAll(() => {
    const path = installJar()
    void checkAll(
      fastConfigurations,
      availableParallelism(),
      (configuration) => runTlcCheck(path, configuration, stop.signal),
      ({ configuration, outcome }) => outcomes.get(configuration.name)?.resolve(outcome),
      stop.signal,
    )
  })
  afterAll(() => stop.abort())

  it.each(fastConfigurations)('$name gives $expected', async (configuration) => {
    const outcome = await outcomes.get(configuration.name)?.promise
    expect(outcome).toBeDefined()
    if (!outcome || isAsExpected({ configuration, outcome })) return
    const { result, output } = outcome
    const detail = result === 'error' ? output.trim() : formatTlcTrace(output).join('\n')
    expect.fail(`${configuration.description} Expected ${configuration.expected}, found ${result}.\n${detail}`)
  })
})
