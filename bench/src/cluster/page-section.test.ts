import { expect, test } from 'vitest'
import { replaceSection } from './page-section.ts'

const page = '# Page\n\nText.\n\n## First\n\nOld.\n\n### Part\n\nOld part.\n\n## Second\n\nKept.\n'

test('a section is replaced with its parts, and the other sections stay', () => {
  expect(replaceSection(page, '## First', '## First\n\nNew.')).toBe('# Page\n\nText.\n\n## First\n\nNew.\n\n## Second\n\nKept.\n')
})

test('the last section is replaced', () => {
  expect(replaceSection(page, '## Second', '## Second\n\nNew.')).toMatch(/Old part\.\n\n## Second\n\nNew\.\n$/)
})

test('a missing section is appended', () => {
  expect(replaceSection(page, '## Third', '## Third\n\nNew.')).toBe(`${page}\n## Third\n\nNew.\n`)
})
