import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import type { GraphqlResult } from '../../gateway-harness.fixture.ts'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import { withEndpointTables } from './tables.ts'
import {
  CREATE,
  type CreatedEndpoint,
  DELETE,
  FIND_ENDPOINT,
  FIND_EVENT,
  LIST_ENDPOINTS,
  LIST_EVENTS,
  openWebhooksHarness,
  REDELIVER,
  ROTATE,
  TEST,
  UPDATE,
  type WebhooksHarness,
} from './webhooks.fixture.ts'

/** The log lines and spans of the gateway, as texts. */
let recorded: string[] = []
const record = (...parts: readonly unknown[]): void => void recorded.push(JSON.stringify(parts))
const log: Logger = { debug: record, info: record, warn: record, error: record, child: () => log }
const tracing: Tracing = {
  span: async (about, work, describeResult) => {
    const result = await work()
    record(about, describeResult?.(result))
    return result
  },
  recordSpan: (about) => record(about),
  traceparent: () => undefined,
  request: (_, work) => work({ end: (name, attributes, failed) => record(name, attributes, failed) }),
}

/** Paths of URLs may contain a token of the receiver. */
const [PATH, NEW_PATH, REFUSED_PATH] = ['a-token-in-a-path', 'another-token', 'a-refused-token']
const urlOf = (path: string): string => `https://shop.example.com/${path}`

let market: WebhooksHarness
beforeEach(async () => {
  recorded = []
  market = await openWebhooksHarness({}, { log, tracing })
})
afterEach(() => market.harness.close())

/** Calls every operation of webhooks, also with failures. @returns the secrets, and the answers after those with the secrets */
async function callEverything() {
  const input = { environment_id: market.environmentId, url: urlOf(PATH) }
  const { id, secret } = await market.call<CreatedEndpoint>(CREATE, { input }, 'payment.webhook_endpoint.create')
  const answers: GraphqlResult[] = []
  const call = async (document: string, variables: object) => void answers.push(await market.gql(document, variables))
  const { id: event } = await market.recordEvent()
  await call(FIND_ENDPOINT, { id })
  await call(LIST_ENDPOINTS, {})
  const rotated = await market.call<CreatedEndpoint>(ROTATE, { id }, 'payment.webhook_endpoint.rotate_secret')
  await call(UPDATE, { input: { id, url: urlOf(NEW_PATH) } })
  await call(TEST, { id })
  await call(REDELIVER, { id: event, endpoint: id })
  await call(FIND_EVENT, { id: event })
  await call(LIST_EVENTS, { input: { environment_id: market.environmentId } })
  return { id, secrets: [secret, rotated.secret], answers, call }
}

const assertAbsent = (text: string, secrets: readonly string[]): void => {
  for (const secret of secrets) for (const part of [secret, secret.replace('whsec_', '')]) assert.ok(!text.includes(part), secret)
}

test('no log line, span, command, table or later answer contains a secret or the path of a URL', async () => {
  const { id, secrets, answers, call } = await callEverything()
  const { db } = market.harness.gateway.views
  const rows = await withEndpointTables({ db }).selectFrom('gateway_endpoints').selectAll().execute()
  const stored = await db.$extendTables<{ records: { json: string } }>().selectFrom('records').selectAll().execute()

  for (const url of [urlOf(REFUSED_PATH).replace('https', 'http'), `https://user@shop.example.com/${REFUSED_PATH}`])
    await call(CREATE, { input: { environment_id: market.environmentId, url } })
  market.refuseCommands()
  await call(UPDATE, { input: { id, url: urlOf(REFUSED_PATH) } })
  await call(ROTATE, { id })
  market.harness.respondWith(() => {
    throw new Error('the service is down')
  })
  await call(UPDATE, { input: { id, url: urlOf(REFUSED_PATH) } })
  await call(ROTATE, { id })
  await call(DELETE, { id })
  assert.equal(answers.filter(({ errors }) => errors !== undefined).length, 7)

  const observed = recorded.join('\n')
  for (const expected of ['a request was answered', 'a request failed', 'http.route', 'webhook_endpoint'])
    assert.ok(observed.includes(expected), expected)
  const outside = [observed, JSON.stringify(market.harness.sent), JSON.stringify(rows)].join('\n')
  assertAbsent(outside, [...secrets, PATH, NEW_PATH, REFUSED_PATH])
  assertAbsent(JSON.stringify(answers.map(({ data, errors }) => [data, errors])), [...secrets, REFUSED_PATH])
  assertAbsent(JSON.stringify(stored), [...secrets, PATH])
  assert.ok(JSON.stringify(stored).includes(NEW_PATH))
})

test('only the team of an endpoint sees its URL', async () => {
  const { id, answers } = await callEverything()
  const ofTeam = answers.map(({ data }) => JSON.stringify(data)).join('\n')
  for (const path of [PATH, NEW_PATH]) assert.ok(ofTeam.includes(path), path)
  const bearer = await market.logIn(FOREIGN_TEAM)
  const ofKey = await market.issueKey({ environmentId: market.environmentId, walletId: market.walletId })
  const others = await Promise.all(
    [
      [FIND_ENDPOINT, { id }] as const,
      [LIST_ENDPOINTS, {}] as const,
      [LIST_ENDPOINTS, { environment: market.environmentId }] as const,
      [UPDATE, { input: { id, active: false } }] as const,
      [TEST, { id }] as const,
    ].flatMap(([document, variables]) => [
      market.gql(document, variables, bearer),
      market.gqlWithKey(ofKey.key, document, variables),
    ]),
  )
  assertAbsent(JSON.stringify(others.map(({ data, errors }) => [data, errors])), [PATH, NEW_PATH])
})
