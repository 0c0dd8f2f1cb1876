import { expect, test } from 'vitest'
import { findImportCycles } from './cycles.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'

test('no file imports itself through other files', () => expectNone(findImportCycles(repositorySources)))

test('a cycle that includes type imports and several packages is reported once', () => {
  const cycle = [
    parseSource('packages/ports/src/a.ts', "import { b } from './b.ts'"),
    parseSource('packages/ports/src/b.ts', "import type { C } from '@penstock/order/c.ts'"),
    parseSource('services/order/src/c.ts', "export { a } from '@penstock/ports/a.ts'"),
  ]
  expect(findImportCycles(cycle)).toEqual([
    expect.stringContaining(
      'packages/ports/src/a.ts -> packages/ports/src/b.ts -> services/order/src/c.ts -> packages/ports/src/a.ts: move',
    ),
  ])
})

test('two import paths to one file are not reported as a cycle', () => {
  const diamond = [
    parseSource('test/top.ts', "import './left.ts'\nimport './right.ts'"),
    parseSource('test/left.ts', "import './end.ts'"),
    parseSource('test/right.ts', "import './end.ts'"),
    parseSource('test/end.ts', 'export const end = 1'),
  ]
  expect(findImportCycles(diamond)).toEqual([])
})
