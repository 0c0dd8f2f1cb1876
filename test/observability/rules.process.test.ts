import assert from 'node:assert/strict'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { providePromtool } from '../../tools/promtool.ts'
import { makeTempFolder } from '../support/product.ts'
import { runProgramSync } from '../support/processes.ts'

const RULES = new URL('../../deploy/dashboards/penstock.rules.yml', import.meta.url)
const TESTS = new URL('rules.test.yml', import.meta.url)

function promtool(path: string, ...args: readonly string[]): string {
  const folder = makeTempFolder()
  cpSync(RULES, join(folder, 'penstock.rules.yml'))
  cpSync(TESTS, join(folder, 'rules.test.yml'))
  const { code, stdout, stderr } = runProgramSync(path, args, { cwd: folder })
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

test('promtool accepts the rules', async ({ skip }) => {
  const program = await providePromtool()
  if ('missing' in program) return skip(program.missing)
  assert.match(promtool(program.path, 'check', 'rules', 'penstock.rules.yml'), /SUCCESS: \d+ rules found/)
})

test('the rules fire in the test cases of promtool, and not too early', async ({ skip }) => {
  const program = await providePromtool()
  if ('missing' in program) return skip(program.missing)
  assert.match(promtool(program.path, 'test', 'rules', 'rules.test.yml'), /SUCCESS/)
})

test.each([
  ['penstock-money', 10],
  ['penstock-cluster', 7],
])('every rule of %s has a test case in which it fires', (name, atLeast) => {
  const [, group = ''] = new RegExp(`name: ${name}\\n([\\s\\S]*?)(?:\\n {2}- name:|$)`).exec(readFileSync(RULES, 'utf8')) ?? []
  const alerts = [...group.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert)
  // A test case without an expected alert is written on one line.
  const firingAlerts = new Set(
    [...readFileSync(TESTS, 'utf8').matchAll(/alertname: (\w+)(?:\n +|, )exp_alerts:/g)].map(([, alert]) => alert),
  )
  assert.ok(alerts.length >= atLeast, `${alerts.length} rules`)
  assert.deepEqual(
    alerts.filter((alert) => !firingAlerts.has(alert)),
    [],
  )
})
