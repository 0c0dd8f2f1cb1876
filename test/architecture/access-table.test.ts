import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ACCESS_TABLE, renderAccessTable } from '../../tools/access-table.ts'

test('docs/api/access.md lists the callers that the use cases admit (if not, run: node tools/access-table.ts)', () => {
  expect(readFileSync(ACCESS_TABLE, 'utf8')).toBe(renderAccessTable())
})
