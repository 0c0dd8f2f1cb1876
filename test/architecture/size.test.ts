import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { sources } from './repository.ts'
import { sizeBreaches } from './size.ts'
import { source } from './source.ts'

const file = (path: string, lines: number) => source(path, 'export {}\n'.repeat(lines))

test('files are short', () => expectNone(sizeBreaches(sources)))

test.each([
  [[file('test/e2e/buy.test.ts', 401)], '401 lines, 400 is the end'],
  [[file('services/order/src/main.ts', 16)], 'at most 15'],
  [[1, 81, 82].map((lines) => file(`packages/ports/src/${lines}.ts`, lines)), 'half of the source files are above 81'],
  [
    [...Array<number>(8).fill(1), 251, 252].map((lines, i) => file(`packages/ports/src/${i}.ts`, lines)),
    'one source file in ten',
  ],
])('too long: example %#', (long, mend) => expect(sizeBreaches(long)).toEqual([expect.stringContaining(mend)]))

test('lengths at the limit are fine', () => {
  expect(
    sizeBreaches([file('services/order/src/main.ts', 15), file('packages/ports/src/a.ts', 80), file('test/b.ts', 400)]),
  ).toEqual([])
})
