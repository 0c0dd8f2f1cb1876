import { expect, test } from 'vitest'
import { testParts } from './parts.ts'
import { proofParts } from './proof-parts.ts'
import { formatResults, parseResults, type ProofResult, readCounts, readSeeds, replaceResult } from './proof-results.ts'

test('the last counts of a program count', () => {
  const output = '1 passed, 0 failed, 0 skipped\nmore\n20 passed, 2 failed, 3 skipped\n'
  expect(readCounts(output, 1)).toEqual({ passed: 20, failed: 2, skipped: 3 })
})

test('a program that fails without a failed unit counts as one failure', () => {
  expect(readCounts('20 passed, 0 failed, 3 skipped\n', 2)).toEqual({ passed: 20, failed: 1, skipped: 3 })
  expect(readCounts('20 passed, 0 failed, 3 skipped\n', null)).toEqual({ passed: 20, failed: 1, skipped: 3 })
})

test('a program without counts counts as one failure', () => {
  expect(readCounts('the end\n', 0)).toEqual({ passed: 0, failed: 1, skipped: 0 })
})

test('seeds and ranges of seeds are read from the starts of lines', () => {
  expect(readSeeds('seed 7, 3 rounds\nthe seed 8\nseed 9\nseeds 1-2000\nseeds of a market\n')).toEqual(['7', '9', '1-2000'])
})

test('a result replaces the earlier result of the same part and length', () => {
  const result = (part: string, short: boolean, passed: number): ProofResult => ({
    part,
    short,
    passed,
    failed: 0,
    skipped: 0,
    seeds: ['1-150'],
    seconds: 9,
    finished_at: '2026-01-01T00:00:00.000Z',
  })
  const earlier = [result('model', true, 1), result('model', false, 2), result('load', true, 3)]
  const results = replaceResult(earlier, result('model', true, 4))
  expect(results).toEqual([earlier[1], earlier[2], result('model', true, 4)])
  expect(parseResults(formatResults(results))).toEqual(results)
})

test('npm run proof runs every part of the proof once, with the programs that the part needs', () => {
  const runs = proofParts.flatMap(({ programs = [], runs }) =>
    runs.flatMap(({ full: [layer, part] }) => (layer === 'proof' ? [{ part, programs }] : [])),
  )
  const expected = testParts.filter(({ layer }) => layer === 'proof')
  expect(runs).toHaveLength(expected.length)
  for (const { name, programs = [] } of expected) expect(runs.find(({ part }) => part === name)?.programs).toEqual(programs)
})
