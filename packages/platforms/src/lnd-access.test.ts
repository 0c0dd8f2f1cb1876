import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from '@penstock/runtime/config.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { macaroonOf } from '@penstock/adapters/lnd/macaroons.contract.ts'
import { permissions } from '@penstock/adapters/lnd/permissions.ts'
import { lndAccess } from './lnd-access.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-access-'))
const file = (name: string): string => join(folder, name)
beforeAll(() => ['tls.cert', 'settlement.macaroon', 'reader.macaroon'].forEach((name) => writeFileSync(file(name), '')))
afterAll(() => rmSync(folder, { recursive: true }))

const access = (process: string, change: Record<string, string> = {}) =>
  lndAccess(process, readConfig({ PENSTOCK_LND_CERT_FILE: file('tls.cert'), PENSTOCK_LND_MACAROON_DIR: folder, ...change }))

test('each process takes the macaroon of its role, or the file that is named', () => {
  for (const reader of ['gateway', 'quote', 'matching', 'order'])
    expect(access(reader).macaroonFile).toBe(file('reader.macaroon'))
  for (const settlement of ['settlement', 'standalone']) expect(access(settlement).macaroonFile).toBe(file('settlement.macaroon'))
  expect(access('gateway', { PENSTOCK_LND_MACAROON_FILE: file('settlement.macaroon') })).toEqual({
    socket: 'localhost:10009',
    certFile: file('tls.cert'),
    macaroonFile: file('settlement.macaroon'),
  })
})

test.each([
  ['settlement', { PENSTOCK_LND_MACAROON_DIR: '' }, 'PENSTOCK_LND_MACAROON_FILE is not set'],
  ['settlement', { PENSTOCK_LND_CERT_FILE: '' }, 'PENSTOCK_LND_CERT_FILE is not set'],
  ['settlement', { PENSTOCK_LND_CERT_FILE: '/nowhere/tls.cert' }, "lnd's certificate /nowhere/tls.cert is not there."],
  ['channel-watcher', {}, '"penstock lnd bake channel-watcher" makes it.'],
])('%s with %o is told what is missing', (process, change, said) => {
  expect(() => access(process, change)).toThrow(ConfigError)
  expect(() => access(process, change)).toThrow(said)
})

test('off regtest a macaroon has to fit its role', () => {
  const access = (...operations: readonly (readonly [string, ...string[]])[]) => {
    writeFileSync(file('fitting.macaroon'), macaroonOf(...operations))
    const named = { PENSTOCK_LND_CERT_FILE: file('tls.cert'), PENSTOCK_LND_MACAROON_FILE: file('fitting.macaroon') }
    return () => lndAccess('quote', readConfig({ ...named, PENSTOCK_NETWORK: 'signet' }))
  }
  const uris = ['uri', ...permissions.reader] as const
  expect(access(uris)).not.toThrow()
  expect(access(uris, ['macaroon', 'generate'])).toThrow('allows what reader never does: macaroon:generate. Make one with')
  const [first, ...others] = permissions.reader
  expect(access(['uri', ...others])).toThrow(
    `does not allow what reader does: uri:${first}. Make one with "penstock lnd bake reader"`,
  )
})
