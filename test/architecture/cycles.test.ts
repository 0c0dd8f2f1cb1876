import { expect, test } from 'vitest'
import { importCycles } from './cycles.ts'
import { expectNone } from './report.ts'
import { sources } from './repository.ts'
import { source } from './source.ts'

test('no file imports itself by way of others', () => expectNone(importCycles(sources)))

test('a circle is found across packages and types, once', () => {
  const circle = [
    source('packages/ports/src/a.ts', "import { b } from './b.ts'"),
    source('packages/ports/src/b.ts', "import type { C } from '@penstock/order/c.ts'"),
    source('services/order/src/c.ts', "export { a } from '@penstock/ports/a.ts'"),
  ]
  expect(importCycles(circle)).toEqual([
    expect.stringContaining(
      'packages/ports/src/a.ts -> packages/ports/src/b.ts -> services/order/src/c.ts -> packages/ports/src/a.ts: move',
    ),
  ])
})

test('two ways to one file are no circle', () => {
  const diamond = [
    source('test/top.ts', "import './left.ts'\nimport './right.ts'"),
    source('test/left.ts', "import './end.ts'"),
    source('test/right.ts', "import './end.ts'"),
    source('test/end.ts', 'export const end = 1'),
  ]
  expect(importCycles(diamond)).toEqual([])
})
