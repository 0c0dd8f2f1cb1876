import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { suiteGroups, type Suite } from '../../tools/suites.ts'
import { expectNone } from './report.ts'
import { repositoryFiles } from './repository.ts'

/** Finds test files in no suite, which never run, and test files in two suites, which run twice. */
const findSuiteBreaches = (paths: readonly string[], suites: readonly Pick<Suite, 'name' | 'include'>[]): readonly string[] =>
  paths
    .filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path))
    .flatMap((path) => {
      const names = suites.filter(({ include }) => include.some((glob) => matchesGlob(path, glob))).map(({ name }) => name)
      return names.length === 1 ? [] : [`${path} is in ${names.join(' and ') || 'no suite'}: change the globs in tools/suites.ts`]
    })

test('every test file belongs to one suite', () => {
  expectNone(
    findSuiteBreaches(
      repositoryFiles,
      suiteGroups.flatMap((part) => part.suites),
    ),
  )
})

test('a test file in no suite or in two suites is reported', () => {
  const suites = [
    { name: 'a', include: ['test/**/*.test.ts'] },
    { name: 'b', include: ['test/b/*.test.ts'] },
  ]
  expect(findSuiteBreaches(['test/b/x.test.ts', 'elsewhere/x.test.ts', 'test/x.test.ts', 'test/x.ts'], suites)).toEqual([
    expect.stringContaining('a and b'),
    expect.stringContaining('no suite'),
  ])
})

test('every file that a suite lists as longest exists and belongs to that suite', () => {
  const longest = suiteGroups
    .flatMap((part) => part.suites)
    .flatMap((suite) => suite.longestFiles?.map((path) => ({ path, suite })) ?? [])
  expectNone(
    longest
      .filter(({ path, suite }) => !repositoryFiles.includes(path) || !suite.include.some((glob) => matchesGlob(path, glob)))
      .map(({ path, suite }) => `${suite.name} has no ${path}: change tools/suites.ts`),
  )
})
