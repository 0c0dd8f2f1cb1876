import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@penstock/config/config-error.ts'
import { expect, onTestFinished, test } from 'vitest'
import { openPostgresFolder } from './servers.ts'

test.skipIf(process.getuid?.() !== 0)('a missing database folder is an error, and no empty folder replaces it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-gone-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const dataFolder = openPostgresFolder(folder)
  onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }))
  expect(openPostgresFolder(folder)).toBe(dataFolder)
  rmSync(dataFolder, { recursive: true })
  expect(() => openPostgresFolder(folder)).toThrow(ConfigError)
  expect(() => openPostgresFolder(folder)).toThrow(/which is gone, and all facts with it/)
})
