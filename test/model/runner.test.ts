import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { javaMajor } from '../../tools/tlc.ts'
import { checkAll, isAsExpected } from './check-all.ts'
import { base, type Configuration, configText } from './configuration.ts'
import { configurations, fastSet } from './configurations.ts'
import { jar, noTlc } from './program.ts'
import { row, summary, withResults } from './report.ts'
import { check, type Outcome, readOutput } from './tlc.ts'
import { traceOf } from './trace.ts'

const signal = new AbortController().signal
const read = (file: string): string => readFileSync(join(import.meta.dirname, '../../docs/model', file), 'utf8')

/** A configuration of a few states. */
const short: Configuration = {
  name: 'short',
  about: 'An order ends before the node confirmed the cancellation.',
  expected: 'EndsTrue',
  size: 'small',
  invariants: ['EndsTrue'],
  properties: [],
  isFair: false,
  constants: { ...base, Faults: ['end-early'] },
}
const held: Outcome = {
  result: 'holds',
  generated: 1200,
  distinct: 300,
  depth: 9,
  seconds: 2,
  output: '',
}

describe.skipIf(noTlc)('a run of TLC', () => {
  it('names the violated property and shows its trace', async () => {
    const outcome = await check(jar(), short, signal)
    expect(outcome.result).toBe('EndsTrue')
    expect(isAsExpected({ configuration: short, outcome })).toBe(true)
    expect(traceOf(outcome.output).at(-1)).toMatch(/OrderEnds .*os = "failed"/)
  })

  it('of a fault that is expected to hold is not as expected', async () => {
    const wrong = { ...short, expected: 'holds' }
    const outcome = await check(jar(), wrong, signal)
    expect(isAsExpected({ configuration: wrong, outcome })).toBe(false)
    expect(row({ configuration: wrong, outcome })).toContain('EndsTrue, EXPECTED holds')
  })

  it('without the fault that it is expected to notice is not as expected', async () => {
    const wrong = { ...short, constants: { ...base, E: 6, Guard: 3, MaxH: 3, Outs: [] } }
    const outcome = await check(jar(), wrong, signal)
    expect(outcome.result).toBe('holds')
    expect(isAsExpected({ configuration: wrong, outcome })).toBe(false)
  })

  it('ends with an error for a property that there is not, and for a missing constant', async () => {
    const outcome = await check(jar(), { ...short, invariants: ['NoSuchProperty'] }, signal)
    expect(outcome.result).toBe('error')
    const { E, ...others } = base
    expect(E).toBeGreaterThan(0)
    // Not a whole configuration, as after a slip in sets.ts.
    const broken = await check(jar(), { ...short, constants: others as typeof base }, signal)
    expect(broken.result).toBe('error')
  })
})

describe("TLC's report", () => {
  it('counts as held only where the search came to its end', () => {
    const done = 'Model checking completed. No error has been found.'
    const numbers = '44,208 states generated, 13,038 distinct states found, 0 states left on queue.'
    const depth = 'The depth of the complete state graph search is 39.'
    const whole = readOutput([done, numbers, depth].join('\n'), { properties: [] })
    expect(whole).toEqual({ result: 'holds', generated: 44_208, distinct: 13_038, depth: 39 })
    expect(readOutput([done, numbers].join('\n'), { properties: [] }).result).toBe('error')
    expect(readOutput([numbers, depth].join('\n'), { properties: [] }).result).toBe('error')
    expect(readOutput('', { properties: [] }).result).toBe('error')
  })

  it.each([
    ['Error: Invariant Taken is violated.', 'Taken'],
    ['Error: Action property NeverBoth is violated.', 'NeverBoth'],
    ['Error: Temporal properties were violated.', 'PayablesEnd'],
  ])('reads "%s"', (line, result) => {
    expect(readOutput(line, { properties: ['PayablesEnd'] }).result).toBe(result)
  })
})

describe('the runner', () => {
  it('begins with the largest, and gives results in the order of the configurations', async () => {
    const asked = [
      { ...short, name: 'first' },
      { ...short, name: 'second', size: 'large' as const },
    ]
    const begun: string[] = []
    const checked = await checkAll(
      asked,
      1,
      async ({ name }) => (begun.push(name), held),
      () => {},
      signal,
    )
    expect(begun).toEqual(['second', 'first'])
    expect(checked.map(({ configuration: { name } }) => name)).toEqual(['first', 'second'])
    expect(summary(checked)).toContain('2 not as expected')
  })

  it('writes the counts into the last section of the page', () => {
    const page = withResults('# Model\n\n## Results\nThe table of before\n', [
      { configuration: { ...short, expected: 'holds' }, outcome: held },
    ])
    expect(page).toContain('# Model\n\n## Results\n')
    expect(page).toContain(
      '| short | An order ends before the node confirmed the cancellation. | holds | 1,200 | 300 | 9 | yes |',
    )
    expect(page).not.toContain('of before')
  })

  it('reads the versions of old and new Java', () => {
    expect(javaMajor('openjdk version "1.8.0_402"')).toBe(8)
    expect(javaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17)
    expect(javaMajor('')).toBeUndefined()
  })
})

describe('the configurations', () => {
  it('have names of their own', () => {
    expect(new Set(configurations.map(({ name }) => name)).size).toBe(configurations.length)
  })

  it('inject every fault of the module, and no other', () => {
    const known = new Set([...read('Penstock.tla').matchAll(/Has\("([\w-]+)"\)/g)].map(([, name]) => name))
    expect(new Set(configurations.flatMap(({ constants }) => constants.Faults))).toEqual(known)
  })

  it('name the one property that a fault violates, so that another violation is noticed', () => {
    for (const { expected, invariants, properties } of configurations.filter((one) => one.expected !== 'holds'))
      expect([...invariants, ...properties]).toContain(expected)
    // TLC does not say which property of liveness is violated.
    for (const { properties } of configurations.filter(({ isFair, expected }) => isFair && expected !== 'holds'))
      expect(properties).toHaveLength(1)
  })

  it('set every constant of the module', () => {
    const declared = /CONSTANTS([\s\S]*?)\n\n/.exec(read('Penstock.tla'))?.[1] ?? ''
    const names = declared.split('\n').flatMap((line) => line.replace(/\\\*.*/, '').match(/\w+/g) ?? [])
    expect(Object.keys(base).toSorted()).toEqual(names.toSorted())
  })

  it('stand on the page with their results, those of the fast set all', () => {
    const rows = new Map(
      [...read('README.md').matchAll(/^\| (\w+-[\w-]+) \| [^|]* \| (\w+) \|/gm)].map(([, name, result]) => [name, result]),
    )
    for (const { name } of fastSet) expect([...rows.keys()], 'run npm run model -- --write').toContain(name)
    const known = new Map(configurations.map(({ name, expected }) => [name, expected]))
    for (const [name = '', result] of rows) expect(result, `${name}: run npm run model -- --write`).toBe(known.get(name))
  })

  it('are properties of the module, and those of the fast set are small', () => {
    const module = read('Properties.tla')
    const used = new Set(configurations.flatMap(({ invariants, properties }) => [...invariants, ...properties]))
    for (const name of used) expect(module).toMatch(new RegExp(`^${name} ==`, 'm'))
    expect(fastSet.length).toBeGreaterThan(40)
    expect(configText(short)).toContain('  Faults = {"end-early"}\n')
  })
})
