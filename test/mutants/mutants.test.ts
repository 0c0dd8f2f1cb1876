import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { allMutants } from './all.ts'
import { CHECKOUT_ROOT } from './checkout-copy.ts'
import { mutantAreas, isGoldenTest, applyMutant } from './mutant.ts'

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
