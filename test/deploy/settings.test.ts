import { readFileSync } from 'node:fs'
import { variables } from '@penstock/runtime/config.ts'
import { expect, test } from 'vitest'
import { chartSettingsAreCurrent, settingsInTemplates } from '../../tools/chart-settings.ts'

const known = new Set<string>(Object.values(variables).map(({ name }) => name))
const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the chart sets no variable that the code does not read', () => {
  expect([...settingsInTemplates()].filter((name) => !known.has(name))).toEqual([])
  expect(settingsInTemplates().size).toBeGreaterThan(20)
})

test("the chart's schema lists every setting that the code reads", () => {
  expect(chartSettingsAreCurrent(), 'run node tools/chart-settings.ts').toBe(true)
})

test.each(['docker-compose.yml', 'deploy/docker/Dockerfile'])('%s sets no variable that the code does not read', (path) => {
  const set = [...textOf(path).matchAll(/\b(PENSTOCK_[A-Z_]+)[:=]/g)].map(([, name = '']) => name)
  expect(set.filter((name) => !known.has(name))).toEqual([])
  expect(set.length).toBeGreaterThan(1)
})
