import { expect, test } from 'vitest'
import { barrels } from './barrels.ts'
import { expectNone } from './report.ts'
import { sources } from './repository.ts'
import { source } from './source.ts'

test('no file only passes on what others define', () => expectNone(barrels(sources)))

test.each(["export * from './a.ts'", "export { a } from './a.ts'", "export type * as a from './a.ts'\nexport const b = 1"])(
  'a barrel: %s',
  (text) => expect(barrels([source('packages/ports/src/index.ts', text)])).toEqual([expect.stringContaining('is a barrel')]),
)

test('a file with exports of its own may pass a name on', () => {
  expect(barrels([source('packages/ports/src/a.ts', "export { b } from './b.ts'\nexport const a = 1")])).toEqual([])
})
