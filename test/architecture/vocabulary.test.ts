import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { REPOSITORY_ROOT, repositorySources } from './repository.ts'
import { parseSource } from './source.ts'
import { findSubjectBreaches, findVocabularyBreaches } from './vocabulary.ts'
import { runSuccessfullySync } from '../support/processes.ts'

test('no file has a banned name, and no comment or test title begins with a banned word', () =>
  expectNone(findVocabularyBreaches(repositorySources)))

test.each([
  ['packages/ports/src/mends.ts', 'export {}', 'is called mends'],
  ['packages/ports/src/a.ts', 'export const weather = 1', 'exports weather'],
  ['packages/ports/src/a.ts', 'export type Sight = string', 'exports Sight'],
  ['packages/ports/src/a.ts', '/** What is kept. */\nexport const a = 1', 'a.ts:1 has a comment that begins with "What"'],
  ['packages/ports/src/a.ts', 'export const a = 1 // Nobody reads it', 'a comment that begins with "Nobody"'],
  ['packages/ports/src/a.test.ts', "test('what is kept stays', () => {})", 'a test title that begins with "what"'],
  [
    'packages/ports/src/a.test.ts',
    "describe('a', () => {\n  it.each([1])(`nobody asks %i`, () => {})\n})",
    'a.test.ts:2 has a test title',
  ],
  ['packages/ports/src/a.test.ts', "test.skipIf(true)('where it is', () => {})", 'begins with "where"'],
])('%s with the text "%s" is reported', (path, text, breach) => {
  expect(findVocabularyBreaches([parseSource(path, text)])).toEqual([expect.stringContaining(breach)])
})

test.each([
  ['packages/ports/src/a.test.ts', "test('the order keeps what it needs', () => {})\ntest(whatever, () => {})"],
  ['packages/ports/src/a.ts', '// The subject comes first.\n// What follows is the same comment.\nexport const a = 1'],
  ['packages/ports/src/a.ts', "export const a = 'What is this?'\nexport const toldApart = 1"],
])('%s with the text "%s" is accepted', (path, text) => expect(findVocabularyBreaches([parseSource(path, text)])).toEqual([]))

test('more than 60 names that several files export are reported', () => {
  const sources = [1, 2].map((file) =>
    parseSource(`packages/ports/src/a${file}.ts`, Array.from({ length: 61 }, (_, at) => `export const name${at} = 1`).join('\n')),
  )
  expect(findVocabularyBreaches(sources)).toEqual([expect.stringContaining('61 exported names are defined by several files')])
})

/** Checks only commits that are newer than this rule. */
test('commit subjects have an area, a verb and at most 72 characters', (context) => {
  const git = (...args: readonly string[]): string => runSuccessfullySync('git', args, { cwd: REPOSITORY_ROOT }).stdout.trim()
  const [rule] = git('log', '--diff-filter=A', '--format=%H', '--', 'test/architecture/vocabulary.test.ts').split('\n')
  // A shallow clone lacks the commit that added this rule, and the commits after it.
  if (!rule) return context.skip('the clone lacks the commit that added this rule')
  expectNone(findSubjectBreaches(git('log', '--no-merges', '--format=%s', `${rule}..HEAD`).split('\n').filter(Boolean)))
})

test.each([
  [`test: ${'x'.repeat(67)}`, '73 characters'],
  ['Fix the guard', 'has no area'],
  ['guard: Fix it', 'has no area'],
])('the commit subject "%s" is reported', (subject, breach) =>
  expect(findSubjectBreaches([subject])).toEqual([expect.stringContaining(breach)]),
)

test.each(['guard: settle at the last height', 'Merge branch main'])('the commit subject "%s" is accepted', (subject) =>
  expect(findSubjectBreaches([subject])).toEqual([]),
)
