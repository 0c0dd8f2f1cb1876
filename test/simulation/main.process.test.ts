import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { SimulationPlan } from './plan/plan.ts'
import { measurePlan } from './shrink.ts'
import { startProgram } from '../support/processes.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const SEED = 1
const BROKEN_MARKET = ['--sabotage', 'settles before the proof']
const INVARIANT = 'settled only when proven'

type ProgramExit = { readonly code: unknown; readonly output: string }

/** Runs the program of `npm run simulate` with these options until it exits. */
async function simulate(...options: readonly string[]): Promise<ProgramExit> {
  const { output, ended } = startProgram(process.execPath, ['--no-warnings', MAIN, ...options])
  return { code: (await ended).code, output: output() }
}

/** @returns the trace hashes of the runs that violated `INVARIANT`, in the order of the output */
const findTraces = (output: string): readonly string[] =>
  [...output.matchAll(new RegExp(`seed ${SEED}: .*, trace (\\w+) BROKEN ${INVARIANT}`, 'g'))].map(([, trace = '']) => trace)

const readLastLine = (output: string): string | undefined => output.trimEnd().split('\n').at(-1)

let file = ''
afterAll(() => {
  if (file !== '') rmSync(file, { force: true })
})

test(
  'the simulation of a failing seed prints the violation, exits with 1, and writes a small plan that fails in the same way',
  { timeout: 600_000 },
  async () => {
    const { code, output } = await simulate('--seeds', '1', '--from', `${SEED}`, '--workers', '1', '--report', ...BROKEN_MARKET)
    assert.equal(code, 1, output)
    expect(output).toContain(`Seed ${SEED} breaks "${INVARIANT}". To repeat: npm run simulate -- --seed ${SEED} `)
    expect(output).toMatch(new RegExp(`^seed ${SEED} failed: ${INVARIANT}`, 'm'))
    expect(output).toMatch(new RegExp(`^1 seeds, 1 failed: ${SEED}; \\d+ names not covered\\.$`, 'm'))
    expect(readLastLine(output)).toBe('0 passed, 1 failed, 0 skipped')
    // A run with `--sabotage` writes no report.
    expect(output).not.toContain('Report: ')
    const [fullTrace = '', shrunk = ''] = findTraces(output)

    file = /--plan (\S+\.json) /.exec(output)?.[1] ?? ''
    const plan = JSON.parse(readFileSync(file, 'utf8')) as SimulationPlan // The program wrote it.
    expect([plan.seed, plan.purchases.length]).toEqual([SEED, 1])
    expect(measurePlan(plan)).toBeLessThanOrEqual(2)

    const [repeated, asDrawn, unbroken] = await Promise.all([
      simulate('--plan', file, ...BROKEN_MARKET),
      simulate('--seed', `${SEED}`, ...BROKEN_MARKET),
      // Without the defect the plan passes.
      simulate('--plan', file),
    ])
    expect([repeated.code, findTraces(repeated.output)]).toEqual([1, [shrunk]])
    expect([asDrawn.code, findTraces(asDrawn.output)]).toEqual([1, [fullTrace]])
    expect(new Set([fullTrace, shrunk, '']).size).toBe(3)
    expect([unbroken.code, unbroken.output.includes('BROKEN')]).toEqual([0, false])
    expect(readLastLine(unbroken.output)).toBe('1 passed, 0 failed, 0 skipped')
  },
)

test.each([
  ['--sabotage', 'toString'],
  ['--seeds', '0'],
])('the program rejects %s %s and prints its usage', async (...options) => {
  const { code, output } = await simulate(...options)
  expect([code, output.split(' -- ')[0]]).toEqual([2, 'npm run simulate'])
})
