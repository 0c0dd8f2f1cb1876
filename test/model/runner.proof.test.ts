import { describe, expect, it } from 'vitest'
import { isAsExpected } from './check-all.ts'
import { baseConstants, type ModelConfiguration } from './configuration.ts'
import { installJar, isTlcMissing } from './program.ts'
import { formatChecked } from './report.ts'
import { runTlcCheck } from './tlc.ts'
import { formatTlcTrace } from './trace.ts'

const signal = new AbortController().signal

/** A configuration with few states, which TLC checks quickly. */
const shortConfiguration: ModelConfiguration = {
  name: 'short',
  description: 'An order ends before the node confirmed the cancellation.',
  expected: 'EndsTrue',
  size: 'small',
  invariants: ['EndsTrue'],
  properties: [],
  isFair: false,
  constants: { ...baseConstants, Faults: ['end-early'] },
}

describe.skipIf(isTlcMissing)('a run of TLC', () => {
  it('reports the violated property and its trace', async () => {
    const outcome = await runTlcCheck(installJar(), shortConfiguration, signal)
    expect(outcome.result).toBe('EndsTrue')
    expect(isAsExpected({ configuration: shortConfiguration, outcome })).toBe(true)
    expect(formatTlcTrace(outcome.output).at(-1)).toMatch(/OrderEnds .*os = "failed"/)
  })

  it('with a violation is unexpected if the configuration expects that all properties hold', async () => {
    const unexpected = { ...shortConfiguration, expected: 'holds' }
    const outcome = await runTlcCheck(installJar(), unexpected, signal)
    expect(isAsExpected({ configuration: unexpected, outcome })).toBe(false)
    expect(formatChecked({ configuration: unexpected, outcome })).toContain('EndsTrue, EXPECTED holds')
  })

  it('without a violation is unexpected if the configuration expects a violation', async () => {
    const unexpected = { ...shortConfiguration, constants: { ...baseConstants, E: 6, Guard: 3, MaxH: 3, Outs: [] } }
    const outcome = await runTlcCheck(installJar(), unexpected, signal)
    expect(outcome.result).toBe('holds')
    expect(isAsExpected({ configuration: unexpected, outcome })).toBe(false)
  })

  it('ends with an error for an unknown property and for a missing constant', async () => {
    const outcome = await runTlcCheck(installJar(), { ...shortConfiguration, invariants: ['NoSuchProperty'] }, signal)
    expect(outcome.result).toBe('error')
    const { E, ...constantsWithoutE } = baseConstants
    expect(E).toBeGreaterThan(0)
    // The cast hides the missing constant from the compiler.
    const constants = constantsWithoutE as typeof baseConstants
    expect((await runTlcCheck(installJar(), { ...shortConfiguration, constants }, signal)).result).toBe('error')
  })
})
