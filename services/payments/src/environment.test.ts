import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { environmentDecider } from './environment.ts'

const sandbox = { teamId: uuidFor(1), type: 'SANDBOX' as const, nameRecord: uuidFor(2), firstWalletId: uuidFor(3), keyId: null }
const create = { type: 'CreateEnvironment', data: sandbox } as const
const created = { type: 'EnvironmentCreated', v: 1, data: sandbox } as const
const remove = { type: 'DeleteEnvironment', data: {} } as const
const deleted = { type: 'EnvironmentDeleted', v: 1, data: {} } as const

test('an environment is created once, and deleted once', () => {
  given(environmentDecider).when(create).then(created)
  given(environmentDecider, created).when(create).then()
  given(environmentDecider, created).when(remove).then(deleted)
  given(environmentDecider, created, deleted).when(remove).then()
})

test('a deleted environment is not created again', () => {
  given(environmentDecider, created, deleted).when(create).then()
})

test('an unknown environment cannot be deleted', () => {
  given(environmentDecider).when(remove).refuses('NOT_FOUND')
})

test('a live environment is refused', () => {
  given(environmentDecider)
    .when({ type: 'CreateEnvironment', data: { ...sandbox, type: 'LIVE', firstWalletId: null } })
    .refuses('LIVE_NOT_SERVED')
})
