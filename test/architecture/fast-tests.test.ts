import { expect, test } from 'vitest'
import { findFastTestBreaches, findUnusedFastExceptions } from './fast-tests.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'

test('fast tests need no process, no clock of the machine and no chance', () =>
  expectNone(findFastTestBreaches(repositorySources)))

test('every listed exception still uses a banned text', () => expectNone(findUnusedFastExceptions(repositorySources)))

test.each([
  ['const seed = Date.now() % 2 ** 31', 'wall clock'],
  ['const startedAt = performance.now()', 'measures real time'],
  ['await new Promise((resolve) => setTimeout(resolve, 50))', 'waits for real time'],
  ["import { setTimeout as sleep } from 'node:timers/promises'", 'waits for real time'],
  ['await vi.waitFor(() => expect(calls).toBe(1))', 'one second'],
  ['const index = Math.floor(Math.random() * 7)', 'new value in each run'],
  ["import { spawn } from 'node:child_process'", 'starts a process'],
  ['product = await startProduct(makeTempFolder())', 'starts a process'],
  ["import { chromium } from 'playwright-core'", 'needs a server or a browser'],
])('a fast test with %j is reported with its mend', (text, mend) => {
  const breaches = (path: string) => findFastTestBreaches([{ path, text }])
  for (const path of ['packages/kernel/src/any.test.ts', 'services/order/src/any.fixture.ts', 'test/simulation/any.test.ts'])
    expect(breaches(path)).toEqual([expect.stringMatching(new RegExp(`^${path}:1 .*${mend}`))])
  for (const path of ['packages/kernel/src/any.process.test.ts', 'test/kafka/any.test.ts', 'test/e2e/any.proof.test.ts'])
    expect(breaches(path)).toEqual([])
})

test('a fast test that waits for a condition passes', () => {
  const text = "await waitUntil('the order is sold', () => status() === 'SOLD')"
  expect(findFastTestBreaches([{ path: 'packages/kernel/src/any.test.ts', text }])).toEqual([])
})
