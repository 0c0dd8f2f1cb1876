import { GraphQLError } from 'graphql'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { AuthenticatedCaller, CredentialKind, RequestCallers, ServiceCaller } from '../access.ts'
import {
  dashboardOnly,
  type PaymentsCaller,
  permitted,
  requireUnscoped,
  seesContent,
  seesEnvironment,
  seesWallet,
} from './access.ts'

const KEY: ServiceCaller = {
  keyId: 'key',
  teamId: 'team',
  environmentId: 'environment',
  walletId: null,
  permissions: [
    { resource: 'PAYMENTS', level: 'WRITE' },
    { resource: 'WALLETS', level: 'READ' },
  ],
}

const holderOf = (kind: CredentialKind): AuthenticatedCaller => ({ kind, accountId: 'team', orderId: null, credential: 'x' })

/** The result of a check: the caller's team, or the code of the refusal. */
function resultOf(check: (callers: RequestCallers) => PaymentsCaller, callers: Partial<RequestCallers>): unknown {
  try {
    return check({ bearer: null, service: null, ...callers }).teamId
  } catch (error) {
    return error instanceof GraphQLError ? error.extensions['code'] : error
  }
}

describe('a permitted operation', () => {
  const read = (callers: Partial<RequestCallers>) => resultOf(permitted('WALLETS', 'READ').check, callers)
  test('admits a dashboard token, and no other Bearer credential', () => {
    const kinds: readonly CredentialKind[] = ['token', 'api', 'session', 'order']
    assert.deepEqual(
      kinds.map((kind) => read({ bearer: holderOf(kind) })),
      ['team', 'FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'],
    )
    assert.equal(read({}), 'UNAUTHENTICATED')
  })
  test('admits a key with its permission, and WRITE implies READ', () => {
    const resources = ['WALLETS', 'PAYMENTS', 'WEBHOOKS'] as const
    const results = resources.map((resource) =>
      (['READ', 'WRITE'] as const).map((level) => resultOf(permitted(resource, level).check, { service: KEY })),
    )
    assert.deepEqual(results, [
      ['team', 'FORBIDDEN'],
      ['team', 'team'],
      ['FORBIDDEN', 'FORBIDDEN'],
    ])
  })
  test('is decided by the key if the request has both credentials', () => {
    assert.equal(read({ bearer: holderOf('token'), service: { ...KEY, permissions: [] } }), 'FORBIDDEN')
    assert.equal(read({ bearer: { ...holderOf('api'), accountId: 'other' }, service: KEY }), 'team')
  })
})

test('an operation of the dashboard refuses every key', () => {
  assert.equal(resultOf(dashboardOnly.check, { bearer: holderOf('token') }), 'team')
  assert.equal(resultOf(dashboardOnly.check, { bearer: holderOf('token'), service: KEY }), 'FORBIDDEN')
  assert.equal(resultOf(dashboardOnly.check, { bearer: holderOf('api') }), 'FORBIDDEN')
  assert.equal(resultOf(dashboardOnly.check, {}), 'UNAUTHENTICATED')
})

test('a caller sees the environments and wallets of its team, and with a key only its own and the environments that it created', () => {
  const user: PaymentsCaller = { teamId: 'team', key: null }
  const service = permitted('WALLETS', 'READ').check({ bearer: null, service: KEY })
  const scoped = permitted('WALLETS', 'READ').check({ bearer: null, service: { ...KEY, walletId: 'wallet' } })
  const callers = [user, service, scoped]
  const environments = [
    { id: 'environment', team_id: 'team', key_id: null },
    { id: 'created', team_id: 'team', key_id: 'key' },
    { id: 'second', team_id: 'team', key_id: 'other key' },
    { id: 'third', team_id: 'team', key_id: null },
    { id: 'environment', team_id: 'stranger', key_id: null },
    { id: 'created', team_id: 'stranger', key_id: 'key' },
  ]
  assert.deepEqual(
    callers.map((caller) => environments.map((environment) => seesEnvironment(caller, environment))),
    [
      [true, true, true, true, false, false],
      [true, true, false, false, false, false],
      [true, true, false, false, false, false],
    ],
  )
  assert.deepEqual(
    callers.map((caller) => environments.map((environment) => seesContent(caller, environment))),
    [
      [true, true, true, true, false, false],
      [true, false, false, false, false, false],
      [true, false, false, false, false, false],
    ],
  )
  const wallets = [
    { id: 'wallet', environment_id: 'environment', team_id: 'team' },
    { id: 'other', environment_id: 'environment', team_id: 'team' },
    { id: 'wallet', environment_id: 'second', team_id: 'team' },
    { id: 'wallet', environment_id: 'environment', team_id: 'stranger' },
  ]
  assert.deepEqual(
    callers.map((caller) => wallets.map((wallet) => seesWallet(caller, wallet))),
    [
      [true, true, true, false],
      [true, true, false, false],
      [true, false, false, false],
    ],
  )
  requireUnscoped(user)
  requireUnscoped(service)
  assert.throws(() => requireUnscoped(scoped), /works for one wallet only/)
})
