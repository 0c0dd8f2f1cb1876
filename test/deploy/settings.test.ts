import { readFileSync } from 'node:fs'
import { variables } from '@penstock/config/config.ts'
import { expect, test } from 'vitest'
import { listTemplateSettings } from '../../tools/chart-settings.ts'

const knownSettings = new Set<string>(Object.values(variables).map(({ name }) => name))
const readText = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** A shorter pause must not restart a process, for example while its machine is paused or its memory is swapped in. */
const MAX_PAUSE_SECONDS = 20

test('the liveness probe does not restart a process that was paused', () => {
  const [probe = ''] =
    /livenessProbe:[\s\S]*?failureThreshold: \d+/.exec(readText('deploy/helm/penstock/templates/deployments.yaml')) ?? []
  const [period = 0, threshold = 0] = ['periodSeconds', 'failureThreshold'].map((key) =>
    Number(new RegExp(`${key}: (\\d+)`).exec(probe)?.[1]),
  )
  expect(period * (threshold - 1)).toBeGreaterThan(2 * MAX_PAUSE_SECONDS)
})

test('the chart sets no variable that the code does not read', () => {
  expect([...listTemplateSettings()].filter((name) => !knownSettings.has(name))).toEqual([])
  expect(listTemplateSettings().size).toBeGreaterThan(20)
})

test.each(['docker-compose.yml', 'deploy/docker/Dockerfile'])('%s sets no variable that the code does not read', (path) => {
  const set = [...readText(path).matchAll(/\b(PENSTOCK_[A-Z_]+)[:=]/g)].map(([, name = '']) => name)
  expect(set.filter((name) => !knownSettings.has(name))).toEqual([])
  expect(set.length).toBeGreaterThan(1)
})
