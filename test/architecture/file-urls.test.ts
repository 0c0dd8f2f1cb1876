import { expect, test } from 'vitest'
import { findEncodedPaths } from './file-urls.ts'
import { expectNone } from './report.ts'
import { readRepositoryFile, repositoryFiles } from './repository.ts'

const [OPEN, FIELD] = ['import.meta' + '.url)', '.path' + 'name']

test('no file takes the percent-encoded path of a file URL for a path', () => {
  const texts = repositoryFiles.filter((path) => /\.[cm]?[jt]s$/.test(path))
  expectNone(findEncodedPaths(texts.map((path) => ({ path, text: readRepositoryFile(path) }))))
})

test.each([
  `const file = new URL('a.ts', ${OPEN}${FIELD}`,
  `const read = (name: string) => new URL(\`x/\${name}\`, ${OPEN}${FIELD}`,
  `new URL(\n  'a.ts',\n  ${OPEN}\n  ${FIELD}`,
  `const file = new URL('a.ts', ${OPEN}\nopen(file${FIELD})`,
])('a percent-encoded path is reported: %s', (text) => {
  expect(findEncodedPaths([{ path: 'a.ts', text }])).toEqual([expect.stringMatching(/^a\.ts:\d+ reads a path from a file URL/)])
})

test.each([
  `fileURLToPath(new URL('a.ts', ${OPEN})`,
  `readFileSync(new URL('a.ts', ${OPEN})`,
  `const { pathname } = new URL(request.url, 'http://any')`,
  `const page = new URL(link)\nfetch(page${FIELD})`,
])('other uses of a URL are allowed: %s', (text) => {
  expect(findEncodedPaths([{ path: 'a.ts', text }])).toEqual([])
})
