import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { endpointDecider } from './endpoint.ts'

const created = {
  type: 'EndpointCreated',
  v: 1,
  data: {
    environmentId: uuidFor(1),
    teamId: uuidFor(2),
    urlRecord: uuidFor(3),
    secretRecord: uuidFor(4),
    filters: [] as 'payment.failed'[],
  },
} as const
const paused = { type: 'EndpointPaused', v: 1, data: {} } as const
const resumed = { type: 'EndpointResumed', v: 1, data: {} } as const
const deleted = { type: 'EndpointDeleted', v: 1, data: {} } as const
const deactivation = { reason: 'GONE' as const, since: 5, httpStatus: 410 }
const deactivated = { type: 'EndpointDeactivated', v: 1, data: deactivation } as const
const change = (data: { urlRecord?: string; filters?: 'payment.failed'[]; active?: boolean }) =>
  ({ type: 'ChangeEndpoint', data: { urlRecord: null, filters: null, active: null, ...data } }) as const

test('an endpoint is created once', () => {
  given(endpointDecider).when({ type: 'CreateEndpoint', data: created.data }).then(created)
  given(endpointDecider, created).when({ type: 'CreateEndpoint', data: created.data }).then()
})

test('a change records only new values', () => {
  given(endpointDecider, created).when(change({})).then()
  given(endpointDecider, created)
    .when(change({ urlRecord: uuidFor(3), filters: [], active: true }))
    .then()
  given(endpointDecider, created)
    .when(change({ filters: ['payment.failed'], active: false }))
    .then({ type: 'EndpointChanged', v: 1, data: { urlRecord: uuidFor(3), filters: ['payment.failed'] } }, paused)
})

test('an endpoint is paused and resumed, and resumed after a deactivation', () => {
  given(endpointDecider, created)
    .when(change({ active: false }))
    .then(paused)
  given(endpointDecider, created, paused)
    .when(change({ active: false }))
    .then()
  given(endpointDecider, created, paused)
    .when(change({ active: true }))
    .then(resumed)
  given(endpointDecider, created, deactivated)
    .when(change({ active: true }))
    .then(resumed)
})

test('only an active endpoint is deactivated, and only if it still has the URL that failed', () => {
  const deactivate = { type: 'DeactivateEndpoint', data: { ...deactivation, urlRecord: uuidFor(3) } } as const
  const moved = { type: 'EndpointChanged', v: 1, data: { urlRecord: uuidFor(8), filters: [] as 'payment.failed'[] } } as const
  given(endpointDecider, created).when(deactivate).then(deactivated)
  given(endpointDecider, created, paused).when(deactivate).then()
  given(endpointDecider, created, deactivated).when(deactivate).then()
  given(endpointDecider, created, moved).when(deactivate).then()
  given(endpointDecider, created, moved)
    .when({ type: 'DeactivateEndpoint', data: { ...deactivation, urlRecord: null } })
    .then(deactivated)
})

test('the secret before a rotation stays valid for a day', () => {
  given(endpointDecider, created)
    .when({ type: 'RotateSecret', data: { secretRecord: uuidFor(5) } }, 1000)
    .then({ type: 'SecretRotated', v: 1, data: { secretRecord: uuidFor(5), previousValidUntil: 86_401_000 } })
})

test('a deleted endpoint takes no more commands, and a second deletion changes nothing', () => {
  const attempt = { eventId: uuidFor(6), attemptId: uuidFor(7) }
  given(endpointDecider, created).when({ type: 'DeleteEndpoint', data: {} }).then(deleted)
  given(endpointDecider, created, deleted).when({ type: 'DeleteEndpoint', data: {} }).then()
  for (const facts of [[], [created, deleted]])
    for (const command of [
      change({ active: true }),
      { type: 'RotateSecret', data: { secretRecord: uuidFor(5) } } as const,
      { type: 'RequestTest', data: attempt } as const,
      { type: 'RequestRedelivery', data: attempt } as const,
    ])
      given(endpointDecider, ...facts)
        .when(command)
        .refuses('NOT_FOUND')
})
