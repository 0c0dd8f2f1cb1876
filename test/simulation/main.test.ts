import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { Plan } from './plan.ts'
import { sizeOf } from './shrink.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const SEED = 13
const BROKEN = ['--sabotage', 'settles before the proof']
const INVARIANT = 'settled only when proven'

type Ended = { readonly code: unknown; readonly said: string }

/** `npm run simulate` with these options, to its end. */
async function simulate(...options: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part: string) => (said += part))
  const [code] = (await once(child, 'close')) as [number | null] // its exit code
  return { code, said }
}

/** The traces of the runs that broke what is to be broken, in the order in which they were told. */
const tracesIn = (said: string): readonly string[] =>
  [...said.matchAll(new RegExp(`seed ${SEED}: .*, trace (\\w+) BROKEN ${INVARIANT}`, 'g'))].map(([, trace = '']) => trace)

let file = ''
afterAll(() => {
  if (file !== '') rmSync(file, { force: true })
})

test(
  'a seed that fails is named, ends the run with 1, and leaves a small plan that fails in the same way again',
  { timeout: 600_000 },
  async () => {
    const { code, said } = await simulate('--seeds', '1', '--from', `${SEED}`, '--workers', '1', '--report', ...BROKEN)
    assert.equal(code, 1, said)
    expect(said).toContain(`Seed ${SEED} breaks "${INVARIANT}". Again: npm run simulate -- --seed ${SEED} `)
    expect(said).toMatch(new RegExp(`^seed ${SEED} failed: ${INVARIANT}`, 'm'))
    expect(said).toMatch(new RegExp(`^1 seeds, 1 failed: ${SEED}; \\d+ things not reached\\.$`, 'm'))
    // What was broken on purpose tells nobody what the market meets.
    expect(said).not.toContain('The report: ')
    const [whole = '', shrunk = ''] = tracesIn(said)

    file = /--plan (\S+\.json) /.exec(said)?.[1] ?? ''
    const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan // what it wrote
    expect([plan.seed, plan.purchases.length]).toEqual([SEED, 1])
    expect(sizeOf(plan)).toBeLessThanOrEqual(2)

    const [again, asDrawn, honest] = await Promise.all([
      simulate('--plan', file, ...BROKEN),
      simulate('--seed', `${SEED}`, ...BROKEN),
      // It was the sabotage, and nothing else.
      simulate('--plan', file),
    ])
    expect([again.code, tracesIn(again.said)]).toEqual([1, [shrunk]])
    expect([asDrawn.code, tracesIn(asDrawn.said)]).toEqual([1, [whole]])
    expect(new Set([whole, shrunk, '']).size).toBe(3)
    expect([honest.code, honest.said.includes('BROKEN')]).toEqual([0, false])
  },
)

test.each([
  ['--sabotage', 'toString'],
  ['--seeds', '0'],
])('%s %s is nothing that it can run, and it says what is', async (...options) => {
  const { code, said } = await simulate(...options)
  expect([code, said.split(' -- ')[0]]).toEqual([2, 'npm run simulate'])
})
