import { expect, test } from 'vitest'
import { findStaleFiles } from '../../tools/generate.ts'
import { replaceBlock } from '../../tools/generated-files.ts'

test('every generated file is up to date', async () => {
  const stale = await findStaleFiles()
  expect([...stale.keys()], 'these files are made from the code; run: npm run generate').toEqual([])
})

test('only the lines between the two comments of a block are replaced', () => {
  const text = 'a\n  # generated: names\n  old\n  # end of names\nb\n'
  expect(replaceBlock(text, 'names', ['  new', '  newer'])).toBe('a\n  # generated: names\n  new\n  newer\n  # end of names\nb\n')
  expect(() => replaceBlock(text, 'other', [])).toThrow('no comment "generated: other"')
})
