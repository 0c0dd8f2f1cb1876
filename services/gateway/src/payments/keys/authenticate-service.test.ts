import { newCredential } from '@penstock/credentials/credentials.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { NOW } from '../../gateway-harness.fixture.ts'
import { TEAM } from '../payments.fixture.ts'
import { authenticateService } from './authenticate-service.ts'
import { codeOf, openServiceKeysHarness, type ServiceKeysHarness } from './service-keys.fixture.ts'

const WALLETS = '{ payment { wallet { find_many { list { id } } } } }'
const IP = '192.0.2.1'

let market: ServiceKeysHarness
beforeEach(
  async () => void (market = await openServiceKeysHarness({ PENSTOCK_DASHBOARD_PER_MINUTE: '60', PENSTOCK_TRUST_PROXY: '1' })),
)
afterEach(() => market.harness.close())

const issue = (more: object = {}) => market.issueKey({ environmentId: market.environmentId, ...more })

describe('a service API key', () => {
  test('names its team, environment, wallet and permissions', async () => {
    const permissions = [{ resource: 'PAYMENTS', level: 'READ' }] as const
    const { id, key } = await issue({ walletId: market.walletId, permissions })
    assert.deepEqual(await authenticateService(market.harness.gateway, key, IP), {
      keyId: id,
      teamId: TEAM,
      environmentId: market.environmentId,
      walletId: market.walletId,
      permissions,
    })
    assert.equal(await authenticateService(market.harness.gateway, undefined, IP), null)
  })

  const deletions: readonly (readonly [string, () => Promise<void>])[] = [
    ['its environment', () => market.project('environment', market.environmentId, [{ type: 'EnvironmentDeleted', data: {} }])],
    ['its wallet', () => market.project('wallet', market.walletId, [{ type: 'WalletDeleted', data: {} }])],
    [
      "its team's account",
      () => market.project('account', TEAM, [{ type: 'AccountDeleted', data: { emailHash: '1'.repeat(64), nodes: [] } }]),
    ],
  ]
  test.each(deletions)('ends with %s at its next call', async (_, remove) => {
    const { key } = await issue({ walletId: market.walletId })
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS)), undefined)
    await remove()
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS)), 'UNAUTHENTICATED')
  })

  test('ends at its expiry', async () => {
    const { key } = await issue({ expiresAt: NOW + 1 })
    const { gateway } = market.harness
    const at = (now: number) => ({ ...gateway, clock: { ...gateway.clock, now: () => now } })
    assert.ok(await authenticateService(at(NOW), key, IP))
    await assert.rejects(authenticateService(at(NOW + 1), key, IP), /Unauthorized token/)
  })

  test('has the time of its last use, to about a minute', async () => {
    const { id, key } = await issue()
    const { gateway } = market.harness
    const lastUses: unknown[] = []
    for (const elapsedMs of [0, MINUTE_MS - 1, MINUTE_MS, MINUTE_MS + 1]) {
      await authenticateService({ ...gateway, clock: { ...gateway.clock, now: () => NOW + elapsedMs } }, key, IP)
      const { rows } = await sql<{ key_id: string; last_used_at: number }>`SELECT * FROM gateway_service_key_uses`.execute(
        gateway.views.db,
      )
      lastUses.push(rows.map(({ key_id, last_used_at }) => [key_id, last_used_at - NOW]))
    }
    assert.deepEqual(lastUses, [[[id, 0]], [[id, 0]], [[id, MINUTE_MS]], [[id, MINUTE_MS]]])
  })
})

test('a malformed key is refused without a look-up and without a count', async () => {
  const { key } = await issue()
  const { ids, pepper, clock, config, log } = market.harness.gateway
  const unused = new Proxy({}, { get: () => assert.fail('a malformed key reads no table') }) as never
  const malformed = ['', 'nonsense', key.slice(0, -1), `${key} `, key.replace('psb_', 'plv_'), newCredential('pak_', ids)]
  for (const text of malformed)
    await assert.rejects(
      authenticateService({ views: unused, limits: unused, pepper, clock, config, log }, text, IP),
      /Unauthorized token/,
    )
})

describe('a request with both headers', () => {
  const ME = '{ account { me { id } } }'
  test('is refused if one of them is invalid, whatever the operation', async () => {
    const { key } = await issue()
    const unknown = newCredential('psb_', market.harness.gateway.ids)
    for (const document of [ME, WALLETS, '{ market { id } }']) {
      assert.equal(codeOf(await market.gqlWithKey(unknown, document, {}, market.token)), 'UNAUTHENTICATED')
      assert.equal(codeOf(await market.gqlWithKey('nonsense', document, {}, market.token)), 'UNAUTHENTICATED')
      assert.equal(codeOf(await market.gqlWithKey(key, document, {}, 'nonsense')), 'UNAUTHENTICATED')
    }
  })
  test('lets the key decide about payments, and the Bearer credential about the rest', async () => {
    const { key } = await issue({ permissions: [{ resource: 'PAYMENTS', level: 'READ' }] })
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS, {}, market.token)), 'FORBIDDEN')
    assert.equal(codeOf(await market.gqlWithKey(key, ME, {}, market.token)), undefined)
    assert.equal(codeOf(await market.gqlWithKey(key, ME)), 'UNAUTHENTICATED')
  })
})

describe('unknown keys', () => {
  const sendUnknown = (from: string) =>
    market.harness.post(WALLETS, {}, { 'x-api-key': newCredential('psb_', market.harness.gateway.ids), 'x-forwarded-for': from })

  test('are limited to 60 a minute by the /64 of the address, with the time to wait', async () => {
    const { key } = await issue()
    for (let n = 0; n < 60; n++) assert.equal(codeOf(await sendUnknown(`2001:db8::${n}`)), 'UNAUTHENTICATED')
    const limited = await sendUnknown('2001:db8::ffff')
    assert.equal(limited.status, 429)
    assert.equal(limited.headers.get('retry-after'), '60')
    assert.equal(limited.headers.get('ratelimit'), '"unknown-key";r=0;t=60')
    assert.deepEqual(limited.errors, [
      { message: 'Too many requests. Wait before you try again.', extensions: { code: 'FORBIDDEN' } },
    ])
    assert.equal(codeOf(await sendUnknown('2001:db8:0:1::1')), 'UNAUTHENTICATED')
    const valid = await market.harness.post(WALLETS, {}, { 'x-api-key': key, 'x-forwarded-for': '2001:db8::1' })
    assert.equal(codeOf(valid), undefined)
  })
})
