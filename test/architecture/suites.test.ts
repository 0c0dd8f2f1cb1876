import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { parts, type Suite } from '../../tools/parts.ts'
import { expectNone } from './report.ts'
import { files } from './repository.ts'

/** A test that no suite names never runs; one that two name runs twice. */
const suiteBreaches = (paths: readonly string[], suites: readonly Pick<Suite, 'name' | 'include'>[]): readonly string[] =>
  paths
    .filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path))
    .flatMap((path) => {
      const names = suites.filter(({ include }) => include.some((glob) => matchesGlob(path, glob))).map(({ name }) => name)
      return names.length === 1 ? [] : [`${path} is in ${names.join(' and ') || 'no suite'}: change the globs in tools/parts.ts`]
    })

test('every test file belongs to one suite', () => {
  expectNone(
    suiteBreaches(
      files,
      parts.flatMap((part) => part.suites),
    ),
  )
})

test('a file in no suite or in two is found', () => {
  const suites = [
    { name: 'a', include: ['test/**/*.test.ts'] },
    { name: 'b', include: ['test/b/*.test.ts'] },
  ]
  expect(suiteBreaches(['test/b/x.test.ts', 'elsewhere/x.test.ts', 'test/x.test.ts', 'test/x.ts'], suites)).toEqual([
    expect.stringContaining('a and b'),
    expect.stringContaining('no suite'),
  ])
})

test('what a suite begins with is there', () => {
  const longest = parts.flatMap((part) => part.suites).flatMap((suite) => suite.longest?.map((path) => ({ path, suite })) ?? [])
  expectNone(
    longest
      .filter(({ path, suite }) => !files.includes(path) || !suite.include.some((glob) => matchesGlob(path, glob)))
      .map(({ path, suite }) => `${suite.name} has no ${path}: change tools/parts.ts`),
  )
})
