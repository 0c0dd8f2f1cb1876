import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { files, read } from './repository.ts'
import { wordBreaches } from './words.ts'

const binary = /\.(png|jpg|ico|woff2|db|gz)$/

test('nothing speaks of one machine or of unfinished work', () => {
  const texts = files.filter((path) => !binary.test(path)).map((path) => ({ path, text: read(path) }))
  expectNone(wordBreaches(texts))
})

test.each([
  ['see /work' + '/main', 'a path of one machine'],
  ['cache in /root' + '/.cache', 'a path of one machine'],
  ['// TO' + 'DO: later', 'unfinished work'],
  ['tarball: https://registry' + '.example.org/a.tgz', 'the address of a package source'],
])('found: %s', (text, mend) => {
  expect(wordBreaches([{ path: 'a.md', text: `fine\n${text}` }])).toEqual([expect.stringContaining(`a.md:2 has ${mend}`)])
})
