import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { testParts, type TestPart } from '../../tools/parts.ts'
import { expectNone } from './report.ts'
import { readRepositoryFile, repositoryFiles } from './repository.ts'

type Globs = Pick<TestPart, 'name' | 'include' | 'exclude'>

const isIncluded = (path: string, { include, exclude = [] }: Globs): boolean =>
  include.some((glob) => matchesGlob(path, glob)) && !exclude.some((glob) => matchesGlob(path, glob))

/** Finds test files in no part, which never run, and test files in two parts, which run twice. */
const findPartBreaches = (paths: readonly string[], parts: readonly Globs[]): readonly string[] =>
  paths
    .filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path))
    .flatMap((path) => {
      const names = parts.filter((part) => isIncluded(path, part)).map(({ name }) => name)
      return names.length === 1 ? [] : [`${path} is in ${names.join(' and ') || 'no part'}: change the globs in tools/parts.ts`]
    })

test('every test file belongs to one part, and so to one layer', () => {
  expectNone(findPartBreaches(repositoryFiles, testParts))
})

test('every part has test files', () => {
  expectNone(
    testParts
      .filter((part) => !repositoryFiles.some((path) => isIncluded(path, part)))
      .map(({ name }) => `${name} has no test file: remove it from tools/parts.ts`),
  )
})

test('the suffix .process.test.ts does not stand for the process of a service', () => {
  expectNone(
    repositoryFiles
      .filter((path) => path.endsWith('.process.test.ts') && repositoryFiles.includes(path.replace(/\.test\.ts$/, '.ts')))
      .map((path) => `${path} is in the layer of servers because of its name: rename it to -process.test.ts`),
  )
})

/** Modules that ban globals of a process, or read a registry that every loaded module fills. */
const SHARED_STATE = /isolation\/forbid-nondeterminism\.ts|exported-metrics\.ts/

test('a test that depends on the state of its process has a process of its own', () => {
  const shared = testParts.filter(({ isolate }) => isolate === false)
  expectNone(
    repositoryFiles
      .filter((path) => shared.some((part) => isIncluded(path, part)))
      .filter((path) => SHARED_STATE.test(readRepositoryFile(path)))
      .map((path) => `${path} shares its process with other files: add it to ISOLATED_UNITS in tools/parts.ts`),
  )
})

test('a test file in no part or in two parts is reported', () => {
  const parts = [
    { name: 'a', include: ['test/**/*.test.ts'], exclude: ['**/*.proof.test.ts'] },
    { name: 'b', include: ['test/b/*.test.ts'] },
  ]
  const paths = ['test/b/x.test.ts', 'elsewhere/x.test.ts', 'test/x.proof.test.ts', 'test/x.test.ts', 'test/x.ts']
  expect(findPartBreaches(paths, parts)).toEqual([
    expect.stringContaining('a and b'),
    expect.stringContaining('elsewhere/x.test.ts is in no part'),
    expect.stringContaining('test/x.proof.test.ts is in no part'),
  ])
})
