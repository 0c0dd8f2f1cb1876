import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { readConfig } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { launchCluster } from './launch.ts'

let dataDir: string
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'penstock-launch-'))))
afterEach(() => rmSync(dataDir, { recursive: true }))

const onLnd = (env: Record<string, string> = {}) => {
  const config = readConfig({ PENSTOCK_LIGHTNING: 'lnd', PENSTOCK_DATA_DIR: dataDir, ...env })
  return launchCluster(config, { replicas: 1, demo: false }, () => undefined, new AbortController().signal)
}

test('a cluster on lnd does not start with one macaroon for all services', async () => {
  for (const env of [{}, { PENSTOCK_LND_MACAROON_DIR: '.', PENSTOCK_LND_MACAROON_FILE: 'admin.macaroon' }])
    await expect(onLnd(env)).rejects.toThrow(/each service has a macaroon of its own: .*PENSTOCK_LND_MACAROON_DIR/)
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})

test('a cluster on lnd reports a missing macaroon before anything is started', async () => {
  const cert = join(dataDir, 'tls.cert')
  for (const file of [cert, join(dataDir, 'reader.macaroon')]) writeFileSync(file, '')
  const started = onLnd({ PENSTOCK_LND_CERT_FILE: cert, PENSTOCK_LND_MACAROON_DIR: dataDir })
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow(/settlement needs the macaroon .* "penstock lnd bake settlement" makes it/)
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})

test('a cluster on lnd refuses the data of a market on the simulated network', async () => {
  writeFileSync(openDataDir(dataDir).simnet, '')
  await expect(onLnd()).rejects.toThrow(/is of a market on the simulated network; set PENSTOCK_DATA_DIR to another folder/)
})

test('a missing Java is reported before anything is started', async () => {
  const { PATH } = process.env
  onTestFinished(() => void (process.env['PATH'] = PATH))
  process.env['PATH'] = dataDir
  const config = readConfig({ PORT: '0', PENSTOCK_DATA_DIR: dataDir })
  const started = launchCluster(config, { replicas: 1, demo: false }, () => undefined, new AbortController().signal)
  await expect(started).rejects.toThrow('Kafka needs Java 17 or newer, and here is none.')
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false)
})
