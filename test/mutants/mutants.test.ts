import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mutants } from './all.ts'
import { type Copy, copyOfCheckout, root } from './copy.ts'
import { hunt, isKilled, tryMutant } from './hunt.ts'
import { areas, isGolden, type Mutant, mutated } from './mutant.ts'
import { row } from './table.ts'

const inCheckout = (path: string): string => readFileSync(join(root, path), 'utf8')

test.each(mutants.map((mutant) => [mutant.id, mutant] as const))('%s fits the code of today', (_, mutant) => {
  assert.notEqual(mutated(mutant, inCheckout(mutant.file)), inCheckout(mutant.file))
  assert.deepEqual(
    mutant.killers.filter((file) => !existsSync(join(root, file)) || isGolden(file, inCheckout(file))),
    [],
  )
})

test('there are enough of them where money and order depend on it, each under a name of its own', () => {
  assert.equal(new Set(mutants.map(({ id }) => id)).size, mutants.length)
  assert.ok(mutants.length >= 30)
  for (const area of areas) assert.ok(mutants.filter((mutant) => mutant.area === area).length >= 3, area)
})

/** The page's rows: each with its area, the mutant's id and the test that killed it. */
const rowsOf = (page: string) =>
  page.split('\n## ').flatMap((part) => {
    const [area = '', ...lines] = part.split('\n')
    return lines
      .filter((line) => /^\| [a-z]+-/.test(line))
      .map((line) => line.slice(2).split(' | '))
      .map(([id = '', , killer = '']) => ({ area, id, killer }))
  })

/** Rows whose test is in none of the files that have to notice the mutant: they were written for another one. */
const strangersIn = (page: string) =>
  rowsOf(page).filter(({ id, killer }) => {
    const killers = mutants.find((mutant) => mutant.id === id)?.killers ?? []
    return !killers.some((file) => killer.startsWith(`${file} > `))
  })

test('the page has every mutant, in its area, and the test that kills it', () => {
  const page = inCheckout('docs/mutants.md')
  assert.deepEqual(
    rowsOf(page).map(({ area, id }) => `${area} ${id}`),
    areas.flatMap((area) => mutants.filter((mutant) => mutant.area === area)).map(({ area, id }) => `${area} ${id}`),
  )
  assert.match(page, new RegExp(`Each of the ${mutants.length} below`))
  assert.deepEqual(strangersIn(page), [])
  const [row] = rowsOf(page)
  assert.ok(row)
  const files = ['packages/market/src/market.test.ts > any', 'NOTHING: it survives']
  for (const file of files) assert.deepEqual(strangersIn(page.replace(row.killer, file)), [{ ...row, killer: file }])
})

test('each mutant dies of what a test says, not of its time', () => {
  const late = rowsOf(inCheckout('docs/mutants.md')).filter(({ killer }) => killer.endsWith(' (by time-out)'))
  assert.deepEqual(late, [])
})

test('code that has moved on is told, not passed over', () => {
  const [mutant] = mutants
  assert.ok(mutant)
  assert.throws(() => mutated(mutant, 'something else'), /does not fit any more: its text is in .* nowhere/)
  assert.throws(() => mutated(mutant, mutant.text.repeat(2)), /2 times/)
})

test.each([
  [true, 'packages/a/src/golden.test.ts', ''],
  [true, 'a/sale.golden.test.ts', ''],
  [false, 'a/marigolden.test.ts', 'expect(snapshot).toMatchObject({ Snapshot: 1 })'],
  [true, 'a/edges.test.ts', 'expect(edges).toMatchSnapshot()'],
  [true, 'a/edges.test.ts', 'expect(edges).not\n  .toMatchInlineSnapshot(`[]`)'],
  [true, 'a/schema.test.ts', "await expect(text).toMatchFileSnapshot('schema.graphql')"],
  [true, 'a/errors.test.ts', 'expect(call).toThrowErrorMatchingInlineSnapshot(`no`)'],
])('it is %s that %s is golden where it says: %s', (is, file, source) => {
  assert.equal(isGolden(file, source), is)
})

const telling = [
  'payout-without-look-up',
  'claim-refused-and-named-all-the-same',
  'position-before-publish',
  'fact-projected-twice',
]
// Its fault is in one package and its test in another: it is killed only where the copy's own packages are used.
const acrossPackages = 'one-confirmation-is-enough'

test('five telling mutants are killed', { timeout: 180_000 }, async () => {
  const five = mutants.filter(({ id }) => telling.includes(id) || id === acrossPackages)
  const verdicts = await hunt(five, 2)
  console.log(verdicts.map(row).join('\n'))
  assert.equal(verdicts.length, 5)
  expect(verdicts.filter((verdict) => !isKilled(verdict)).map(row)).toEqual([])
})

describe('a copy', () => {
  let copy: Copy
  beforeAll(() => {
    copy = copyOfCheckout()
  })
  afterAll(() => copy.remove())

  test('uses its own packages, never those of the checkout', () => {
    const members = ['packages', 'services'].flatMap((parent) =>
      readdirSync(join(copy.folder, parent)).map((name) => join(parent, name)),
    )
    const resolved = [...members, 'test'].flatMap((member) => {
      const scope = join(copy.folder, member, 'node_modules/@penstock')
      const require = createRequire(join(copy.folder, member, 'package.json'))
      return existsSync(scope)
        ? readdirSync(scope).map((name) => require.resolve(`@penstock/${name}/${aSourceOf(copy, scope, name)}`))
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
    wrong: '',
    file: 'packages/kernel/src/money.ts',
    text: 'return msat / MSAT_PER_SAT',
    instead: 'return (msat * 2n) / (MSAT_PER_SAT * 2n)',
    killers: ['packages/market/src/market.test.ts'],
  }
  test('tells a survivor, a hang and a mutant that cannot even be loaded apart', { timeout: 180_000 }, async () => {
    const outcomeOf = async (instead: string) => (await tryMutant(copy.folder, { ...arithmetic, instead })).result.outcome
    assert.equal(await outcomeOf(arithmetic.instead), 'passed')
    assert.equal(await outcomeOf('return )'), 'broken')
    const endless = {
      ...arithmetic,
      text: 'export const MSAT_PER_SAT = 1000n',
      instead: 'for (;;);\nexport const MSAT_PER_SAT = 1000n',
    }
    const hung = await tryMutant(copy.folder, endless, 5000)
    assert.equal(hung.result.outcome, 'hung')
    assert.equal(isKilled(hung), false)
    assert.equal(readFileSync(join(copy.folder, arithmetic.file), 'utf8'), inCheckout(arithmetic.file))
  })
})

/** Any module of a package, as an import names it. */
function aSourceOf({ folder }: Copy, scope: string, name: string): string {
  const source = join(realpathSync(join(scope, name)), 'src')
  assert.ok(source.startsWith(folder), `${name} leads out of the copy, to ${source}`)
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  return files.find((file) => file.endsWith('.ts')) ?? assert.fail(`${name} has no module`)
}
