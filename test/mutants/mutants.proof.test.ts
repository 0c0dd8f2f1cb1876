import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allMutants } from './all.ts'
import { type CheckoutCopy, copyCheckoutToTemp, CHECKOUT_ROOT } from './checkout-copy.ts'
import { runMutants, isMutantKilled, runMutant } from './run-mutants.ts'
import type { Mutant } from './mutant.ts'
import { formatVerdict } from './table.ts'

const readInCheckout = (path: string): string => readFileSync(join(CHECKOUT_ROOT, path), 'utf8')

const sampleIds = [
  'payout-without-look-up',
  'claim-refused-and-named-all-the-same',
  'position-before-publish',
  'fact-projected-twice',
]
// The fault of this mutant is in one package, and its test in another. The test fails only if the copy uses its own packages.
const acrossPackages = 'one-confirmation-is-enough'

test('five mutants of different areas are killed', { timeout: 180_000 }, async () => {
  const sampleMutants = allMutants.filter(({ id }) => sampleIds.includes(id) || id === acrossPackages)
  const verdicts = await runMutants(sampleMutants, 2)
  console.log(verdicts.map(formatVerdict).join('\n'))
  assert.equal(verdicts.length, 5)
  expect(verdicts.filter((verdict) => !isMutantKilled(verdict)).map(formatVerdict)).toEqual([])
})

describe('a copy of the checkout', () => {
  let copy: CheckoutCopy
  beforeAll(() => {
    copy = copyCheckoutToTemp()
  })
  afterAll(() => copy.remove())

  test('uses its own workspace packages instead of those of the checkout', () => {
    const members = ['packages', 'services'].flatMap((parent) =>
      readdirSync(join(copy.folder, parent)).map((name) => join(parent, name)),
    )
    const resolved = [...members, 'test'].flatMap((member) => {
      const scope = join(copy.folder, member, 'node_modules/@penstock')
      const require = createRequire(join(copy.folder, member, 'package.json'))
      return existsSync(scope)
        ? readdirSync(scope).map((name) => require.resolve(`@penstock/${name}/${readSourceOf(copy, scope, name)}`))
        : []
    })
    assert.ok(resolved.length > 50)
    assert.deepEqual(
      resolved.filter((path) => !path.startsWith(join(copy.folder, '/'))),
      [],
    )
  })

  const arithmetic: Mutant = {
    id: 'for-this-test',
    area: 'matching',
    description: '',
    file: 'packages/kernel/src/money.ts',
    text: 'return msat / MSAT_PER_SAT',
    replacement: 'return (msat * 2n) / (MSAT_PER_SAT * 2n)',
    killers: ['packages/market/src/market.test.ts'],
  }
  test('yields different outcomes for a surviving mutant, a hang and invalid syntax', { timeout: 180_000 }, async () => {
    const outcomeOf = async (replacement: string) => (await runMutant(copy.folder, { ...arithmetic, replacement })).result.outcome
    assert.equal(await outcomeOf(arithmetic.replacement), 'passed')
    assert.equal(await outcomeOf('return )'), 'broken')
    const endless = {
      ...arithmetic,
      text: 'export const MSAT_PER_SAT = 1000n',
      replacement: 'for (;;);\nexport const MSAT_PER_SAT = 1000n',
    }
    const hung = await runMutant(copy.folder, endless, 5000)
    assert.equal(hung.result.outcome, 'hung')
    assert.equal(isMutantKilled(hung), false)
    assert.equal(readFileSync(join(copy.folder, arithmetic.file), 'utf8'), readInCheckout(arithmetic.file))
  })
})

/** @returns the path of any module of a package, relative to its source folder */
function readSourceOf({ folder }: CheckoutCopy, scope: string, name: string): string {
  const source = join(realpathSync(join(scope, name)), 'src')
  assert.ok(source.startsWith(folder), `${name} leads out of the copy, to ${source}`)
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  return files.find((file) => file.endsWith('.ts')) ?? assert.fail(`${name} has no module`)
}
