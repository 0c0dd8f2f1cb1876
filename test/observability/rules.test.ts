import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { providePromtool } from '../../tools/promtool.ts'
import { scratch } from '../harness/product.ts'

const RULES = new URL('../../deploy/dashboards/penstock.rules.yml', import.meta.url)
const TESTS = new URL('rules.test.yml', import.meta.url)

function promtool(path: string, ...args: readonly string[]): string {
  const folder = scratch()
  cpSync(RULES, join(folder, 'penstock.rules.yml'))
  cpSync(TESTS, join(folder, 'rules.test.yml'))
  const { status, stdout, stderr } = spawnSync(path, args, { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

test('Prometheus itself takes the rules', ({ skip }) => {
  const found = providePromtool()
  if ('missing' in found) return skip(found.missing)
  assert.match(promtool(found.path, 'check', 'rules', 'penstock.rules.yml'), /SUCCESS: \d+ rules found/)
})

test('the rules go off when they have to, and not before', ({ skip }) => {
  const found = providePromtool()
  if ('missing' in found) return skip(found.missing)
  assert.match(promtool(found.path, 'test', 'rules', 'rules.test.yml'), /SUCCESS/)
})

test.each([
  ['penstock-money', 10],
  ['penstock-cluster', 7],
])('every rule of %s has a case in which it goes off', (name, atLeast) => {
  const [, group = ''] = new RegExp(`name: ${name}\\n([\\s\\S]*?)(?:\\n {2}- name:|$)`).exec(readFileSync(RULES, 'utf8')) ?? []
  const alerts = [...group.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert)
  // A case that expects nothing stands on one line.
  const goOff = new Set(
    [...readFileSync(TESTS, 'utf8').matchAll(/alertname: (\w+)(?:\n +|, )exp_alerts:/g)].map(([, alert]) => alert),
  )
  assert.ok(alerts.length >= atLeast, `${alerts.length} rules`)
  assert.deepEqual(
    alerts.filter((alert) => !goOff.has(alert)),
    [],
  )
})
