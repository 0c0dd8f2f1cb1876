import { expect, test } from 'vitest'
import { findBarrels } from './barrels.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'

test('no file consists of re-exports only', () => expectNone(findBarrels(repositorySources)))

test.each(["export * from './a.ts'", "export { a } from './a.ts'", "export type * as a from './a.ts'\nexport const b = 1"])(
  'a file with the text "%s" is reported as a barrel',
  (text) =>
    expect(findBarrels([parseSource('packages/ports/src/index.ts', text)])).toEqual([expect.stringContaining('is a barrel')]),
)

test('a file with exports of its own may re-export a name of another file', () => {
  expect(findBarrels([parseSource('packages/ports/src/a.ts', "export { b } from './b.ts'\nexport const a = 1")])).toEqual([])
})
