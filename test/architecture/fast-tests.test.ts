import { expect, test } from 'vitest'
import { findFastTestBreaches, findUnusedFastExceptions } from './fast-tests.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'

test('fast tests and their helpers need no process, no clock of the machine and no chance', () =>
  expectNone(findFastTestBreaches(repositorySources)))

test('every listed exception is loaded by a fast test and uses a banned text', () =>
  expectNone(findUnusedFastExceptions(repositorySources)))

test.each([
  ['const seed = Date.now() % 2 ** 31', 'wall clock'],
  ['const startedAt = performance.now()', 'measures real time'],
  ['await new Promise((resolve) => setTimeout(resolve, 50))', 'waits for real time'],
  ["import { setTimeout as sleep } from 'node:timers/promises'", 'waits for real time'],
  ['const signal = AbortSignal.timeout(1000)', 'gives up after real time'],
  ['await vi.waitFor(() => expect(calls).toBe(1))', 'one second'],
  ['const index = Math.floor(Math.random() * 7)', 'new value in each run'],
  ["import { spawn } from 'node:child_process'", 'starts a process'],
  ['product = await startProduct(makeTempFolder())', 'starts a process'],
  ["import { chromium } from 'playwright-core'", 'needs a server or a browser'],
])('a fast test with %j is reported with its mend', (text, mend) => {
  const breaches = (path: string) => findFastTestBreaches([parseSource(path, text)])
  for (const path of ['packages/kernel/src/any.test.ts', 'services/order/src/any.fixture.ts', 'test/simulation/any.test.ts'])
    expect(breaches(path)).toEqual([expect.stringMatching(new RegExp(`^${path}:1 .*${mend}`))])
  for (const path of ['packages/kernel/src/any.process.test.ts', 'test/kafka/any.test.ts', 'test/e2e/any.proof.test.ts'])
    expect(breaches(path)).toEqual([])
})

test('a fast test that waits for a condition passes', () => {
  const text = "await waitUntil('the order is sold', () => status() === 'SOLD')"
  expect(findFastTestBreaches([parseSource('packages/kernel/src/any.test.ts', text)])).toEqual([])
})

const WAITS = 'await new Promise((resolve) => setTimeout(resolve, 50))'

/** Finds breaches of these files, whose contents are given by their paths. */
const findBreaches = (files: Readonly<Record<string, string>>) =>
  findFastTestBreaches(Object.entries(files).map(([path, text]) => parseSource(path, text)))

test('a helper that a fast test loads through another helper is reported with its importers and its mend', () => {
  const breaches = findBreaches({
    'test/simulation/any.test.ts': "import { a } from '../support/first.ts'",
    'test/support/first.ts': "export { a } from './second.ts'",
    'test/support/second.ts': `export const a = 1\n${WAITS}`,
  })
  expect(breaches).toEqual([
    expect.stringMatching(
      /^test\/support\/second\.ts:2 waits for real time: .* inject a clock; or move the part that fast tests load/,
    ),
  ])
  expect(breaches[0]).toContain('(loaded by test/support/first.ts <- test/simulation/any.test.ts)')
})

test.each([
  ['packages/kernel/src/any.test.ts', '@penstock/testkit/planted.ts', 'packages/testkit/src/planted.ts'],
  ['packages/testkit/src/any.test.ts', './planted.ts', 'packages/testkit/src/planted.ts'],
  ['services/order/src/any.test.ts', './planted.child.ts', 'services/order/src/planted.child.ts'],
  ['tools/any.test.ts', '../test/support/planted.ts', 'test/support/planted.ts'],
])('%s that imports %s is followed to its helper', (path, specifier, helper) => {
  for (const statement of [`import { a } from '${specifier}'`, `const { a } = await import('${specifier}')`])
    expect(findBreaches({ [path]: statement, [helper]: WAITS })).toEqual([expect.stringContaining(`${helper}:1 waits`)])
})

test.each([
  ['a module of the product', 'test/simulation/any.test.ts', '@penstock/kernel/planted.ts', 'packages/kernel/src/planted.ts'],
  ['a helper of a test with processes', 'test/simulation/any.process.test.ts', './planted.ts', 'test/simulation/planted.ts'],
  ['a helper of the layer of servers', 'test/kafka/any.test.ts', './planted.ts', 'test/kafka/planted.ts'],
])('%s may wait for real time', (_, path, specifier, imported) => {
  expect(findBreaches({ [path]: `import { a } from '${specifier}'`, [imported]: WAITS })).toEqual([])
})

test('a helper of which a fast test imports only types may wait for real time', () => {
  const files = { 'test/simulation/any.test.ts': "import type { A } from './planted.ts'", 'test/simulation/planted.ts': WAITS }
  expect(findBreaches(files)).toEqual([])
})

test('an exception that no fast test loads, or without a banned text, is reported', () => {
  const path = 'packages/testkit/src/wait-until.ts'
  const importing = parseSource('test/simulation/any.test.ts', "import { waitUntil } from '@penstock/testkit/wait-until.ts'")
  const isReported = (...sources: readonly ReturnType<typeof parseSource>[]): boolean =>
    findUnusedFastExceptions(sources).includes(`${path} needs no exception: remove it from fast-tests.ts`)
  expect(isReported(importing, parseSource(path, WAITS))).toBe(false)
  expect(isReported(parseSource(path, WAITS))).toBe(true)
  expect(isReported(importing, parseSource(path, 'export const waitUntil = 1'))).toBe(true)
})
