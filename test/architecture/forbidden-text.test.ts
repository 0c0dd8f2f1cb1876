import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { repositoryFiles, readRepositoryFile } from './repository.ts'
import { findForbiddenText } from './forbidden-text.ts'

const binary = /\.(png|jpg|ico|woff2|db|gz)$/

test('no file contains a path of one machine, the address of a package source, a command that fetches a package, or a mark of unfinished work', () => {
  const texts = repositoryFiles.filter((path) => !binary.test(path)).map((path) => ({ path, text: readRepositoryFile(path) }))
  expectNone(findForbiddenText(texts))
})

test.each([
  ['see /work' + '/main', 'a path of one machine'],
  ['cache in /root' + '/.cache', 'a path of one machine'],
  ['// TO' + 'DO: later', 'unfinished work'],
  ['tarball: https://registry' + '.example.org/a.tgz', 'the address of a package source'],
  ['run `np' + 'x penstock --help`', "a command that may fetch a stranger's package"],
  ['run np' + 'x --yes penstock ps', "a command that may fetch a stranger's package"],
])('"%s" is reported as %s', (text, problem) => {
  expect(findForbiddenText([{ path: 'a.md', text: `fine\n${text}` }])).toEqual([expect.stringContaining(`a.md:2 has ${problem}`)])
})
