import { createMutants } from '../mutant.ts'

const src = 'services/payments/src/webhooks'
const tables = 'packages/adapters/src/sql/deliveries'
const contracts = 'packages/adapters/src/deterministic/contracts.test.ts'

export const webhookMutants = createMutants('payments', [
  {
    id: 'webhook-signed-with-decoded-secret',
    description: 'The bytes of the secret sign instead of its text: receivers refuse every webhook as forged.',
    file: `${src}/sign.ts`,
    text: `createSecretKey(secret, 'utf8')`,
    replacement: `createSecretKey(decodeSecret(secret))`,
  },
  {
    id: 'replaced-secret-signs-for-ever',
    description: 'A replaced secret still signs after its last day: a thief of it forges webhooks, which the receiver accepts.',
    file: `${src}/request.ts`,
    text: 'validUntil === null || validUntil > now',
    replacement: 'validUntil !== 0',
    killers: [`${src}/webhooks.test.ts`],
  },
  {
    id: 'webhook-body-rebuilt',
    description: 'The body is made again for an attempt: numbers lose digits, and the receiver refuses it as forged.',
    file: `${src}/request.ts`,
    text: 'return { url, headers, body: event.body }',
    replacement: 'return { url, headers, body: JSON.stringify(JSON.parse(event.body)) }',
    killers: [`${src}/webhooks.test.ts`],
  },
  {
    id: 'damaged-url-in-the-log',
    description: "The parser's error about a damaged URL is logged: readers of the log see the token in the URL.",
    file: `${src}/request.ts`,
    text: '  } catch {\n    throw new Bug(`the URL ${record} is damaged`)',
    replacement: '  } catch (error) {\n    throw new Bug(`the URL ${record} is damaged: ${error}`)',
    killers: [`${src}/secrecy.test.ts`],
  },
  {
    id: 'retry-after-in-milliseconds',
    description: 'Retry-After counts as milliseconds: an overloaded receiver gets its repetitions too early.',
    file: `${src}/outcome.ts`,
    text: '(retryAfterSeconds ?? 0) * 1000',
    replacement: '(retryAfterSeconds ?? 0)',
  },
  {
    id: 'gone-endpoint-called-on',
    description: 'The status 410 switches no endpoint off: a server that wants no more webhooks gets each further one.',
    file: `${src}/outcome.ts`,
    text: 'isGone: httpStatus === GONE',
    replacement: 'isGone: false',
  },
  {
    id: 'interrupted-webhook-not-repeated',
    description: 'An attempt that a crash interrupted is the last one: the receiver never gets the event.',
    file: `${src}/outcome.ts`,
    text: `error: 'The service stopped during the call.',
  isRepeated: true,`,
    replacement: `error: 'The service stopped during the call.',
  isRepeated: false,`,
  },
  {
    id: 'five-calls-of-an-endpoint',
    description: 'An endpoint gets five calls at once: its server is called more often at once than promised.',
    file: `${src}/pools.ts`,
    text: 'Math.min(MAX_PER_ENDPOINT, lane.allowed + 1)',
    replacement: 'Math.min(MAX_PER_ENDPOINT + 1, lane.allowed + 1)',
  },
  {
    id: 'webhook-overtakes-the-earlier-one',
    description: 'An event does not wait for the first attempt of an earlier one: a receiver learns of an end before its begin.',
    file: `${tables}/queue.ts`,
    text: 'and attempt.due_at <= ${now} and ${isNextOfTransaction}',
    replacement: 'and attempt.due_at <= ${now}',
    killers: [contracts],
  },
  {
    id: 'redelivery-uses-attempts-up',
    description: 'A redelivery takes an attempt from the delivery that waits: the receiver gets fewer attempts than promised.',
    file: `${tables}/end.ts`,
    text: 'attempts_left: attempts_left - 1',
    replacement: 'attempts_left: attempts_left - last',
    killers: [contracts],
  },
])
