import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@penstock/runtime/config.ts'
import { expect, onTestFinished, test } from 'vitest'
import { postgresFolder } from './servers.ts'

test.skipIf(process.getuid?.() !== 0)('a database that is gone is missed, and no empty one takes its place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-gone-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const place = postgresFolder(folder)
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  expect(postgresFolder(folder)).toBe(place)
  rmSync(place, { recursive: true })
  expect(() => postgresFolder(folder)).toThrow(ConfigError)
  expect(() => postgresFolder(folder)).toThrow(/which is gone, and all facts with it/)
})
