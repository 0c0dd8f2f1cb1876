import type { WebhookAnswer } from '@penstock/ports/post-webhook.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { START } from '../samples.fixture.ts'
import {
  answered,
  change,
  endpointCommand,
  firstSecret,
  type Fixture,
  openFixture,
  secondSecret,
  waitForQuiet,
} from './webhooks.fixture.ts'

const [ID, GONE_ID] = [uuidFor(50), uuidFor(51)]
const URL_SECRETS = ['a-user', 'a-password', 'a-path-token', 'a-query-token']
const SECRET_URL = 'https://a-user:a-password@shop.example/a-path-token?key=a-query-token'
/** A parser's error would show the text beside the missing quotation mark. */
const DAMAGED_URL_JSON = JSON.stringify({ url: SECRET_URL }).replace('"https://', '')
const NETWORK_ERROR: WebhookAnswer = { kind: 'failed', reason: 'the host refused the connection' }

/** Also the messages and causes of errors, which JSON leaves out. */
const toText = (value: unknown): string =>
  inspect(value, { depth: Infinity, maxStringLength: null, maxArrayLength: null, breakLength: Infinity, showHidden: true })

/** Records log lines of all levels, and spans, as texts. */
function createRecorder() {
  const [lines, spans]: [string[], string[]] = [[], []]
  const openLog = (bound: object): Logger => {
    const record = (fields: object, text: string): void => void lines.push(toText([bound, fields, text]))
    return { debug: record, info: record, warn: record, error: record, child: (fields) => openLog({ ...bound, ...fields }) }
  }
  const tracing: Tracing = {
    async span(about, work, describeResult) {
      spans.push(toText(about))
      try {
        const result = await work()
        spans.push(toText(describeResult?.(result)))
        return result
      } catch (error) {
        spans.push(toText(error))
        throw error
      }
    },
    recordSpan: (about) => void spans.push(toText(about)),
    traceparent: () => undefined,
    request: (_, work) => work({ end: (...parts) => void spans.push(toText(parts)) }),
  }
  return { lines, spans, log: openLog({}), tracing }
}

/** The forms of a secret: its text, the part after its prefix, and its bytes as in a URL and in hexadecimal digits. */
const formsOf = (secret: string): readonly string[] => {
  const encoded = secret.replace('whsec_', '').replace('=', '')
  return [secret, encoded, ...(['base64url', 'hex'] as const).map((form) => Buffer.from(encoded, 'base64').toString(form))]
}
const WEBHOOK_SECRETS = ['whsec_', ...[firstSecret, secondSecret].flatMap(formsOf)]
const findLeaks = (text: string, secrets: readonly string[]): readonly string[] =>
  secrets.filter((secret) => text.includes(secret))

/** Requests a test, and waits for the end of its one attempt, or until the attempt waits for its next try. */
async function sendTest(fixture: Fixture, endpointId: string, number: number): Promise<void> {
  const data = { eventId: uuidFor(number), attemptId: uuidFor(number + 100) }
  await fixture.act(endpointCommand(endpointId, { type: 'RequestTest', data } as never), 'TestRequested')
  await waitUntil(`the end of test ${number}`, async () =>
    (await fixture.ports.deliveries.listAttempts([data.eventId])).find(
      ({ status, nextAttemptAt }) => status === 'SUCCESS' || status === 'FAILED' || (nextAttemptAt ?? 0) > START,
    ),
  )
}

async function rotate(fixture: Fixture, endpointId: string, secretRecord: string): Promise<void> {
  await fixture.act(endpointCommand(endpointId, { type: 'RotateSecret', data: { secretRecord } } as never), 'SecretRotated')
}

/** Sends with every kind of answer, with two secrets, and with damaged records. */
async function sendInEveryWay(fixture: Fixture): Promise<void> {
  const { receiver, storeSecret, ports } = fixture
  await fixture.createEndpoint(ID, [], SECRET_URL)
  await fixture.createEndpoint(GONE_ID, [], SECRET_URL)
  await fixture.receive(uuidFor(10))
  await waitForQuiet(fixture)
  await storeSecret(uuidFor(60), secondSecret)
  await rotate(fixture, ID, uuidFor(60))
  for (const [index, answer] of [answered(200), answered(500), NETWORK_ERROR].entries()) {
    receiver.answer = () => answer
    await sendTest(fixture, ID, 70 + index)
  }
  receiver.answer = () => Promise.reject(new Error('the call was cut off'))
  await sendTest(fixture, ID, 73)
  receiver.answer = () => answered(410)
  await sendTest(fixture, GONE_ID, 74)
  await fixture.waitForFact(`endpoint-${GONE_ID}`, 'EndpointDeactivated')

  receiver.answer = () => answered(200)
  await ports.records.put(uuidFor(61), 'webhook-secret', secondSecret, START)
  await rotate(fixture, ID, uuidFor(61))
  await sendTest(fixture, ID, 75)
  await storeSecret(uuidFor(62), secondSecret)
  await rotate(fixture, ID, uuidFor(62))
  await ports.records.put(uuidFor(63), 'webhook-url', DAMAGED_URL_JSON, START)
  await fixture.act(endpointCommand(ID, change({ urlRecord: uuidFor(63) }) as never), 'EndpointChanged')
  await sendTest(fixture, ID, 76)
}

test('no log line, span, metric, message, fact or attempt contains a secret, nor any part of a URL', async () => {
  const { lines, spans, ...observed } = createRecorder()
  const fixture = await openFixture(observed)
  const publish = vi.spyOn(fixture.platform.bus, 'publish')
  await sendInEveryWay(fixture)

  const { deliveries } = fixture.ports
  const attempts = await deliveries.listAttempts([10, 70, 71, 72, 73, 74, 75, 76].map((number) => uuidFor(number)))
  const outside = {
    log: lines.join('\n'),
    spans: spans.join('\n'),
    metrics: await registry.metrics(),
    messages: toText(publish.mock.calls),
    facts: toText(await fixture.platform.store.readAll('start', 1000)),
    attempts: toText(attempts),
  }
  const leaks = Object.entries(outside).flatMap(([place, text]) =>
    findLeaks(text, [...WEBHOOK_SECRETS, ...URL_SECRETS]).map((secret) => `${place}: ${secret}`),
  )
  expect(leaks).toEqual([])

  // Each place has recorded these calls, so it could have contained a secret.
  expect(fixture.received).toHaveLength(7)
  expect(toText(fixture.received)).toContain(SECRET_URL)
  expect(outside.log.match(/a webhook could not be sent/g)).toHaveLength(1)
  expect(outside.log.match(/a webhook could not be made/g)).toHaveLength(2)
  for (const reason of ['the call was cut off', 'cannot be opened', 'is damaged', ID]) expect(outside.log).toContain(reason)
  expect(outside.spans).toContain(`endpoint-${GONE_ID}`)
  expect(outside.metrics).toMatch(/penstock_webhook_attempts_total\{outcome="delivered"\} [1-9]/)
  for (const place of [outside.messages, outside.facts]) expect(place).toContain(uuidFor(60))
  expect(outside.facts).toContain('EndpointDeactivated')
  expect(outside.attempts).toContain('The call failed: the host refused the connection.')
})

test.each([
  ['a field', (log: Logger) => log.info({ secret: firstSecret }, 'a text')],
  ['a text', (log: Logger) => log.debug({}, `the secret ${firstSecret}`)],
  ['a bound field', (log: Logger) => log.child({ part: firstSecret.slice(6) }).warn({}, 'a text')],
  ['an error', (log: Logger) => log.error({ error: new Error('a text', { cause: new Error(firstSecret) }) }, 'a text')],
])('a secret in %s of a log line is found', (_, write) => {
  const { lines, log } = createRecorder()
  write(log)
  expect(findLeaks(lines.join('\n'), WEBHOOK_SECRETS)).not.toEqual([])
})
