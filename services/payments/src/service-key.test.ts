import type { Permission } from '@penstock/contracts/payments/service-key.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { hashFor } from './samples.fixture.ts'
import { serviceKeyDecider } from './service-key.ts'

const key = {
  environmentId: uuidFor(1),
  teamId: uuidFor(2),
  keyHash: hashFor(1),
  prefix: 'psb_4f9a',
  suffix: '7c1e',
  nameRecord: uuidFor(3),
  walletId: null,
  nodeId: null,
  expiresAt: null,
  permissions: [{ resource: 'PAYMENTS' as const, level: 'WRITE' as const }],
}
const issued = { type: 'KeyIssued', v: 1, data: key } as const
const renamed = { type: 'KeyRenamed', v: 1, data: { nameRecord: uuidFor(4) } } as const
const revoked = { type: 'KeyRevoked', v: 1, data: {} } as const
const issue = (data: Partial<Parameters<typeof serviceKeyDecider.evolve>[1]['data']>, at = 0) =>
  given(serviceKeyDecider).when({ type: 'IssueKey', data: { ...key, ...data } }, at)

test('a key is issued once, renamed and revoked', () => {
  issue({}).then(issued)
  given(serviceKeyDecider, issued).when({ type: 'IssueKey', data: key }).then()
  given(serviceKeyDecider, issued)
    .when({ type: 'RenameKey', data: { nameRecord: uuidFor(4) } })
    .then(renamed)
  given(serviceKeyDecider, issued, renamed)
    .when({ type: 'RenameKey', data: { nameRecord: uuidFor(4) } })
    .then()
  given(serviceKeyDecider, issued).when({ type: 'RevokeKey', data: {} }).then(revoked)
  given(serviceKeyDecider, issued, revoked).when({ type: 'RevokeKey', data: {} }).then()
})

test('a revoked key stays revoked', () => {
  given(serviceKeyDecider, issued, revoked).when({ type: 'IssueKey', data: key }).then()
  const { state } = given(serviceKeyDecider, issued, revoked, renamed)
  expect(state).toEqual({ status: 'REVOKED', nameRecord: uuidFor(4) })
})

test('an unknown key can be neither renamed nor revoked', () => {
  given(serviceKeyDecider)
    .when({ type: 'RenameKey', data: { nameRecord: uuidFor(4) } })
    .refuses('NOT_FOUND')
  given(serviceKeyDecider).when({ type: 'RevokeKey', data: {} }).refuses('NOT_FOUND')
})

test('the expiry of a key lies in the future', () => {
  issue({ expiresAt: 1001 }, 1000).then({ ...issued, data: { ...key, expiresAt: 1001 } })
  issue({ expiresAt: 1000 }, 1000).refuses('EXPIRY_PASSED')
})

test('a key for credentials needs a wallet and a permission for wallets, and has no level WRITE', () => {
  const credentials: Permission = { resource: 'WALLET_CREDENTIALS', level: 'READ' }
  const wallets: Permission = { resource: 'WALLETS', level: 'READ' }
  const walletId = uuidFor(5)
  const permissions = [wallets, credentials]
  issue({ walletId, permissions }).then({ ...issued, data: { ...key, walletId, permissions } })
  issue({ walletId: null, permissions }).refuses('PERMISSIONS_INVALID')
  issue({ walletId, permissions: [credentials] }).refuses('PERMISSIONS_INVALID')
  issue({ walletId, permissions: [wallets, { ...credentials, level: 'WRITE' }] }).refuses('PERMISSIONS_INVALID')
})
