import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeMacaroon } from '@penstock/adapters/lnd/macaroon.fixture.ts'
import { macaroonPermissions } from '@penstock/adapters/lnd/permissions.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import { resolveLndAccess } from './lnd-access.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-access-'))
const file = (name: string): string => join(folder, name)
beforeAll(() => ['tls.cert', 'settlement.macaroon', 'reader.macaroon'].forEach((name) => writeFileSync(file(name), '')))
afterAll(() => rmSync(folder, { recursive: true }))

const access = (macaroon: MacaroonRole | undefined, change: Record<string, string> = {}) =>
  resolveLndAccess(
    { name: 'some-process', ...(macaroon && { macaroon }) },
    readConfig({ PENSTOCK_LND_CERT_FILE: file('tls.cert'), PENSTOCK_LND_MACAROON_DIR: folder, ...change }),
  )

test('each process uses the macaroon of its role, or the configured macaroon file', () => {
  expect(access(undefined).macaroonFile).toBe(file('reader.macaroon'))
  expect(access('settlement').macaroonFile).toBe(file('settlement.macaroon'))
  expect(access(undefined, { PENSTOCK_LND_MACAROON_FILE: file('settlement.macaroon') })).toEqual({
    socket: 'localhost:10009',
    certFile: file('tls.cert'),
    macaroonFile: file('settlement.macaroon'),
  })
})

test.each([
  ['settlement', { PENSTOCK_LND_MACAROON_DIR: '' }, 'PENSTOCK_LND_MACAROON_FILE is not set'],
  ['settlement', { PENSTOCK_LND_CERT_FILE: '' }, 'PENSTOCK_LND_CERT_FILE is not set'],
  ['settlement', { PENSTOCK_LND_CERT_FILE: '/nowhere/tls.cert' }, "lnd's certificate /nowhere/tls.cert does not exist."],
  ['channel-watcher', {}, '"penstock lnd bake channel-watcher" makes it.'],
] as const)('%s with %o is refused with the missing setting or file', (role, change, message) => {
  expect(() => access(role, change)).toThrow(ConfigError)
  expect(() => access(role, change)).toThrow(message)
})

test('except on regtest, a macaroon must have exactly the permissions of its role', () => {
  const access = (...operations: readonly (readonly [string, ...string[]])[]) => {
    writeFileSync(file('fitting.macaroon'), encodeMacaroon(...operations))
    const named = { PENSTOCK_LND_CERT_FILE: file('tls.cert'), PENSTOCK_LND_MACAROON_FILE: file('fitting.macaroon') }
    return () => resolveLndAccess({ name: 'quote' }, readConfig({ ...named, PENSTOCK_NETWORK: 'signet' }))
  }
  const uris = ['uri', ...macaroonPermissions.reader] as const
  expect(access(uris)).not.toThrow()
  expect(access(uris, ['macaroon', 'generate'])).toThrow(
    'has permissions that reader does not need: macaroon:generate. Make one with',
  )
  const [first, ...others] = macaroonPermissions.reader
  expect(access(['uri', ...others])).toThrow(
    `lacks permissions that reader needs: uri:${first}. Make one with "penstock lnd bake reader"`,
  )
})
