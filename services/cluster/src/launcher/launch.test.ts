import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import { ConfigError, readConfig } from '@penstock/runtime/config.ts'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { launch } from './launch.ts'

let dataDir: string
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'penstock-launch-'))))
afterEach(() => rmSync(dataDir, { recursive: true }))

const onLnd = (env: Record<string, string> = {}) => {
  const config = readConfig({ PENSTOCK_LIGHTNING: 'lnd', PENSTOCK_DATA_DIR: dataDir, ...env })
  return launch(config, { replicas: 1, demo: false }, () => undefined, new AbortController().signal)
}

test('a cluster on lnd is not started with one macaroon for all', async () => {
  for (const env of [{}, { PENSTOCK_LND_MACAROON_DIR: '.', PENSTOCK_LND_MACAROON_FILE: 'admin.macaroon' }])
    await expect(onLnd(env)).rejects.toThrow(/each service has a macaroon of its own: .*PENSTOCK_LND_MACAROON_DIR/)
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})

test('a cluster on lnd is told which macaroon is missing before anything is started', async () => {
  const cert = join(dataDir, 'tls.cert')
  for (const file of [cert, join(dataDir, 'reader.macaroon')]) writeFileSync(file, '')
  const started = onLnd({ PENSTOCK_LND_CERT_FILE: cert, PENSTOCK_LND_MACAROON_DIR: dataDir })
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow(/channel-watcher needs the macaroon .* "penstock lnd bake channel-watcher" makes it/)
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})

test('the data of a market on the simulated network are not taken to an lnd', async () => {
  writeFileSync(openDataDir(dataDir).simnet, '')
  await expect(onLnd()).rejects.toThrow(/is of a market on the simulated network; set PENSTOCK_DATA_DIR to another folder/)
})

test('a machine without Java is told so before anything is started', async () => {
  const { PATH } = process.env
  onTestFinished(() => void (process.env['PATH'] = PATH))
  process.env['PATH'] = dataDir
  const config = readConfig({ PORT: '0', PENSTOCK_DATA_DIR: dataDir })
  const started = launch(config, { replicas: 1, demo: false }, () => undefined, new AbortController().signal)
  await expect(started).rejects.toThrow('Kafka needs Java 17 or newer, and here is none.')
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})
