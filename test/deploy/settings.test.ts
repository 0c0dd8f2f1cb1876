import { readFileSync } from 'node:fs'
import { variables } from '@penstock/runtime/config.ts'
import { expect, test } from 'vitest'
import { chartSettingsAreCurrent, settingsInTemplates } from '../../tools/chart-settings.ts'

const known = new Set<string>(Object.values(variables).map(({ name }) => name))
const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** As much as a process may stand still without being asked again: a node that is paused, a page of memory that is fetched. */
const STANDS_STILL_SECONDS = 20

test('a process that stood still is not started again for that', () => {
  const [probe = ''] =
    /livenessProbe:[\s\S]*?failureThreshold: \d+/.exec(textOf('deploy/helm/penstock/templates/deployments.yaml')) ?? []
  const [period = 0, threshold = 0] = ['periodSeconds', 'failureThreshold'].map((key) =>
    Number(new RegExp(`${key}: (\\d+)`).exec(probe)?.[1]),
  )
  expect(period * (threshold - 1)).toBeGreaterThan(2 * STANDS_STILL_SECONDS)
})

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
