import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Attempt, DueEndpoint } from '@penstock/ports/deliveries.ts'
import type { PostWebhook, WebhookAnswer } from '@penstock/ports/post-webhook.ts'
import type { Records } from '@penstock/ports/records.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import type { CommandOutcome } from '@penstock/runtime/service.ts'
import { expect, test, vi } from 'vitest'
import { createCaller } from './call.ts'
import { MAX_WAIT_MS } from './feed.ts'

const NOW = 1_790_000_000_000
const SECRET = `whsec_${'A'.repeat(43)}=`
const attempt: Attempt = {
  id: 'attempt',
  endpointId: 'endpoint',
  event: { id: 'e', envelopeId: 'payment.pending:e', type: 'payment.pending', body: '{}', environmentId: 'shop' },
  number: 1,
  maxAttempts: 8,
}
const endpoint: DueEndpoint = {
  id: 'endpoint',
  urlRecord: 'url',
  secrets: [{ record: 'secret', validUntil: null }],
  failingSince: NOW - MAX_WAIT_MS,
}

const getUrl: Records['get'] = (id) =>
  Promise.resolve({ id, kind: 'any', json: JSON.stringify({ url: 'https://shop.example/' }), at: NOW })

/** A caller whose receiver gives one answer, and a decider for the commands that it causes. */
function openFixture(answer: WebhookAnswer | Error, getRecord: Records['get'] = getUrl) {
  const decide = vi.fn<() => Promise<CommandOutcome>>(() => Promise.resolve({ outcome: 'accepted', revision: 1 }))
  const log = openLogger('silent')
  const postWebhook = vi.fn<PostWebhook>(() => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)))
  const logError = vi.spyOn(log, 'error')
  const call = createCaller({
    decide,
    ports: {
      clock: { ...systemClock, now: () => NOW },
      ids: systemIds(),
      log,
      records: { get: getRecord },
      opener: { open: async () => SECRET },
      postWebhook,
    },
  })
  return { call, decide, postWebhook, logError }
}

test('a status that no fact may contain switches a failing endpoint off, without a status', async () => {
  const { call, decide } = openFixture({ kind: 'answered', status: 999, retryAfterSeconds: null })
  const lastAttempt = { ...attempt, number: 8 }
  expect(await call(lastAttempt, endpoint)).toMatchObject({ status: 'FAILED', httpStatus: null })
  const data = { reason: 'FAILING', since: endpoint.failingSince, httpStatus: null, urlRecord: 'url' }
  const command = { type: 'DeactivateEndpoint', data }
  expect(decide).toHaveBeenCalledWith({ category: 'endpoint', id: 'endpoint', command }, expect.any(String))
})

test('a failure that is repeated switches no endpoint off, also if the failure before it was days ago', async () => {
  const { call, decide } = openFixture({ kind: 'answered', status: 503, retryAfterSeconds: null })
  expect(await call({ ...attempt, number: 7 }, endpoint)).toMatchObject({ status: 'FAILED', isRepeated: true })
  expect(decide).not.toHaveBeenCalled()
})

test('an error while an endpoint is switched off is logged, and the verdict returned', async () => {
  const { call, decide, logError } = openFixture({ kind: 'answered', status: 410, retryAfterSeconds: null })
  decide.mockRejectedValueOnce(new Fault('the database is away')).mockRejectedValueOnce(new Bug('the command is refused'))
  expect(await call(attempt, endpoint)).toMatchObject({ status: 'FAILED', httpStatus: 410 })
  expect(decide).toHaveBeenCalledTimes(2)
  expect(logError).toHaveBeenCalledWith(
    expect.objectContaining({ endpoint: 'endpoint', reason: 'Bug: the command is refused' }),
    expect.stringContaining('could not be switched off'),
  )
})

test('a fault of the service during a call is none of the receiver, and switches no endpoint off', async () => {
  const { call, decide } = openFixture(new Error('the agent is closed'))
  expect(await call(attempt, endpoint)).toMatchObject({ status: 'FAILED', isRepeated: true, isReceiversFault: false })
  expect(decide).not.toHaveBeenCalled()
})

test.each<readonly [string, Records['get']]>([
  ['a fault of the database', () => Promise.reject(new Fault('the database is away'))],
  ['a missing record', () => Promise.resolve(undefined)],
])('after %s there is no call, and the attempt is postponed', async (_, getRecord) => {
  const { call, decide, postWebhook } = openFixture({ kind: 'answered', status: 410, retryAfterSeconds: null }, getRecord)
  expect(await call(attempt, endpoint)).toBe('POSTPONED')
  expect([postWebhook.mock.calls, decide.mock.calls]).toEqual([[], []])
})
