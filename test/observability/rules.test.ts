import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
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

test('the rules about money go off when they have to, and not before', ({ skip }) => {
  const found = providePromtool()
  if ('missing' in found) return skip(found.missing)
  assert.match(promtool(found.path, 'test', 'rules', 'rules.test.yml'), /SUCCESS/)
})
