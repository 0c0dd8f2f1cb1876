import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseJavaMajor } from '../../tools/tlc.ts'
import { checkAll } from './check-all.ts'
import { baseConstants, type ModelConfiguration, formatConfiguration } from './configuration.ts'
import { modelConfigurations, fastConfigurations } from './configurations.ts'
import { formatModelSummary, replaceResults } from './report.ts'
import { type TlcOutcome, readOutput } from './tlc-output.ts'

const signal = new AbortController().signal
const readModelFile = (file: string): string => readFileSync(join(import.meta.dirname, '../../docs/model', file), 'utf8')

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
const heldOutcome: TlcOutcome = {
  result: 'holds',
  generated: 1200,
  distinct: 300,
  depth: 9,
  seconds: 2,
  output: '',
}

describe('readOutput', () => {
  it("returns 'holds' only if TLC's output says that the search is complete", () => {
    const done = 'Model checking completed. No error has been found.'
    const numbers = '44,208 states generated, 13,038 distinct states found, 0 states left on queue.'
    const depth = 'The depth of the complete state graph search is 39.'
    const complete = readOutput([done, numbers, depth].join('\n'), { properties: [] })
    expect(complete).toEqual({ result: 'holds', generated: 44_208, distinct: 13_038, depth: 39 })
    expect(readOutput([done, numbers].join('\n'), { properties: [] }).result).toBe('error')
    expect(readOutput([numbers, depth].join('\n'), { properties: [] }).result).toBe('error')
    expect(readOutput('', { properties: [] }).result).toBe('error')
  })

  it.each([
    ['Error: Invariant Taken is violated.', 'Taken'],
    ['Error: Action property NeverBoth is violated.', 'NeverBoth'],
    ['Error: Temporal properties were violated.', 'PayablesEnd'],
  ])('finds the violated property in "%s"', (line, result) => {
    expect(readOutput(line, { properties: ['PayablesEnd'] }).result).toBe(result)
  })
})

describe('the runner', () => {
  it('starts with the largest configuration, and returns results in the order of the configurations', async () => {
    const chosen = [
      { ...shortConfiguration, name: 'first' },
      { ...shortConfiguration, name: 'second', size: 'large' as const },
    ]
    const started: string[] = []
    const checked = await checkAll(
      chosen,
      1,
      async ({ name }) => (started.push(name), heldOutcome),
      () => {},
      signal,
    )
    expect(started).toEqual(['second', 'first'])
    expect(checked.map(({ configuration: { name } }) => name)).toEqual(['first', 'second'])
    expect(formatModelSummary(checked)).toContain('2 not as expected')
  })

  it('replaces the last section of the page by a table of the new counts', () => {
    const page = replaceResults('# Model\n\n## Results\nThe previous table\n', [
      { configuration: { ...shortConfiguration, expected: 'holds' }, outcome: heldOutcome },
    ])
    expect(page).toContain('# Model\n\n## Results\n')
    expect(page).toContain(
      '| short | An order ends before the node confirmed the cancellation. | holds | 1,200 | 300 | 9 | yes |',
    )
    expect(page).not.toContain('The previous table')
  })

  it('parses the major versions of Java 8 and Java 17', () => {
    expect(parseJavaMajor('openjdk version "1.8.0_402"')).toBe(8)
    expect(parseJavaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17)
    expect(parseJavaMajor('')).toBeUndefined()
  })
})

describe('the configurations', () => {
  it('have unique names', () => {
    expect(new Set(modelConfigurations.map(({ name }) => name)).size).toBe(modelConfigurations.length)
  })

  it('inject every fault of the module, and no other fault', () => {
    const known = new Set([...readModelFile('Penstock.tla').matchAll(/Has\("([\w-]+)"\)/g)].map(([, name]) => name))
    expect(new Set(modelConfigurations.flatMap(({ constants }) => constants.Faults))).toEqual(known)
  })

  it('check the property whose violation they expect, so that any other violation is unexpected', () => {
    for (const { expected, invariants, properties } of modelConfigurations.filter((one) => one.expected !== 'holds'))
      expect([...invariants, ...properties]).toContain(expected)
    // TLC does not name a violated liveness property, so these configurations check only one property.
    for (const { properties } of modelConfigurations.filter(({ isFair, expected }) => isFair && expected !== 'holds'))
      expect(properties).toHaveLength(1)
  })

  it('set every constant of the module', () => {
    const declared = /CONSTANTS([\s\S]*?)\n\n/.exec(readModelFile('Penstock.tla'))?.[1] ?? ''
    const names = declared.split('\n').flatMap((line) => line.replace(/\\\*.*/, '').match(/\w+/g) ?? [])
    expect(Object.keys(baseConstants).toSorted()).toEqual(names.toSorted())
  })

  it('have their expected results on the page docs/model/README.md, which contains the whole fast set', () => {
    const rows = new Map(
      [...readModelFile('README.md').matchAll(/^\| (\w+-[\w-]+) \| [^|]* \| (\w+) \|/gm)].map(([, name, result]) => [
        name,
        result,
      ]),
    )
    for (const { name } of fastConfigurations) expect([...rows.keys()], 'run npm run proof -- model --write').toContain(name)
    const known = new Map(modelConfigurations.map(({ name, expected }) => [name, expected]))
    for (const [name = '', result] of rows) expect(result, `${name}: run npm run proof -- model --write`).toBe(known.get(name))
  })

  it('check only properties of the module, and more than 40 of them are in the fast set', () => {
    const module = readModelFile('Properties.tla')
    const used = new Set(modelConfigurations.flatMap(({ invariants, properties }) => [...invariants, ...properties]))
    for (const name of used) expect(module).toMatch(new RegExp(`^${name} ==`, 'm'))
    expect(fastConfigurations.length).toBeGreaterThan(40)
    expect(formatConfiguration(shortConfiguration)).toContain('  Faults = {"end-early"}\n')
  })
})
