import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allMutants } from './all.ts'
import { type CheckoutCopy, copyCheckoutToTemp, CHECKOUT_ROOT } from './checkout-copy.ts'
import { runMutants, isMutantKilled, runMutant } from './run-mutants.ts'
import { mutantAreas, isGoldenTest, type Mutant, applyMutant } from './mutant.ts'
import { formatVerdict } from './table.ts'

const readInCheckout = (path: string): string => readFileSync(join(CHECKOUT_ROOT, path), 'utf8')

test.each(allMutants.map((mutant) => [mutant.id, mutant] as const))('%s matches its file, and its killers exist', (_, mutant) => {
  assert.notEqual(applyMutant(mutant, readInCheckout(mutant.file)), readInCheckout(mutant.file))
  assert.deepEqual(
    mutant.killers.filter((file) => !existsSync(join(CHECKOUT_ROOT, file)) || isGoldenTest(file, readInCheckout(file))),
    [],
  )
})

test('the ids are unique, there are at least 30 mutants, and each area has at least three', () => {
  assert.equal(new Set(allMutants.map(({ id }) => id)).size, allMutants.length)
  assert.ok(allMutants.length >= 30)
  for (const area of mutantAreas) assert.ok(allMutants.filter((mutant) => mutant.area === area).length >= 3, area)
})

/** @returns the rows of the page, each with its area, the id of the mutant and the test that killed it */
const rowsOf = (page: string) =>
  page.split('\n## ').flatMap((part) => {
    const [area = '', ...lines] = part.split('\n')
    return lines
      .filter((line) => /^\| [a-z]+-/.test(line))
      .map((line) => line.slice(2).split(' | '))
      .map(([id = '', , killer = '']) => ({ area, id, killer }))
  })

/** Finds rows that name a test outside of the mutant's killer files. */
const findForeignKillers = (page: string) =>
  rowsOf(page).filter(({ id, killer }) => {
    const killers = allMutants.find((mutant) => mutant.id === id)?.killers ?? []
    return !killers.some((file) => killer.startsWith(`${file} > `))
  })

test('docs/mutants.md lists every mutant in its area with a test of its killer files', () => {
  const page = readInCheckout('docs/mutants.md')
  assert.deepEqual(
    rowsOf(page).map(({ area, id }) => `${area} ${id}`),
    mutantAreas.flatMap((area) => allMutants.filter((mutant) => mutant.area === area)).map(({ area, id }) => `${area} ${id}`),
  )
  assert.match(page, new RegExp(`Each of the ${allMutants.length} below`))
  assert.deepEqual(findForeignKillers(page), [])
  const [row] = rowsOf(page)
  assert.ok(row)
  const files = ['packages/market/src/market.test.ts > any', 'NO TEST: the mutant survives']
  for (const file of files) assert.deepEqual(findForeignKillers(page.replace(row.killer, file)), [{ ...row, killer: file }])
})

test('every mutant is killed by an assertion and not by a timeout', () => {
  const timeouts = rowsOf(readInCheckout('docs/mutants.md')).filter(({ killer }) => killer.endsWith(' (by timeout)'))
  assert.deepEqual(timeouts, [])
})

test('applyMutant throws unless the code contains the text of the mutant exactly once', () => {
  const [mutant] = allMutants
  assert.ok(mutant)
  assert.throws(() => applyMutant(mutant, 'something else'), /no longer matches the code: .* contains its text 0 times/)
  assert.throws(() => applyMutant(mutant, mutant.text.repeat(2)), /contains its text 2 times/)
})

test.each([
  [true, 'packages/a/src/golden.test.ts', ''],
  [true, 'a/sale.golden.test.ts', ''],
  [false, 'a/marigolden.test.ts', 'expect(snapshot).toMatchObject({ Snapshot: 1 })'],
  [true, 'a/edges.test.ts', 'expect(edges).toMatchSnapshot()'],
  [true, 'a/edges.test.ts', 'expect(edges).not\n  .toMatchInlineSnapshot(`[]`)'],
  [true, 'a/schema.test.ts', "await expect(text).toMatchFileSnapshot('schema.graphql')"],
  [true, 'a/errors.test.ts', 'expect(call).toThrowErrorMatchingInlineSnapshot(`no`)'],
])('isGoldenTest returns %s for %s with the text "%s"', (expected, file, source) => {
  assert.equal(isGoldenTest(file, source), expected)
})

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
