import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { findSizeBreaches } from './size.ts'
import { parseSource } from './source.ts'

const file = (path: string, lines: number) => parseSource(path, 'export {}\n'.repeat(lines))

test('files, mains and folders keep within the size limits', () => expectNone(findSizeBreaches(repositorySources)))

test.each([
  [[file('test/e2e/buy.test.ts', 401)], '401 lines, 400 is the limit'],
  [[file('services/order/src/main.ts', 16)], 'at most 15'],
  [[1, 81, 82].map((lines) => file(`packages/ports/src/${lines}.ts`, lines)), 'half of the source files are above 81'],
  [
    [...Array<number>(8).fill(1), 251, 252].map((lines, i) => file(`packages/ports/src/${i}.ts`, lines)),
    'one source file in ten',
  ],
  [Array.from({ length: 21 }, (_, i) => file(`packages/ports/src/bus/${i}.ts`, 1)), 'packages/ports/src/bus has 21 files'],
])('example %# exceeds a limit and is reported', (sources, problem) =>
  expect(findSizeBreaches(sources)).toEqual([expect.stringContaining(problem)]),
)

test('files exactly as long as their limit are accepted', () => {
  expect(
    findSizeBreaches([file('services/order/src/main.ts', 15), file('packages/ports/src/a.ts', 80), file('test/b.ts', 400)]),
  ).toEqual([])
})
