import { expect, test } from 'vitest'
import { answerWith, createdTransaction, createFakeClient, refuseWith, type SentRequest } from './client.fixture.ts'
import { isPenstockError } from './errors.ts'

const INVOICE = { wallet_id: 'w1', amount: '1000' }
const FOUND = answerWith({ data: { payment: { transaction: { find_one: { id: 't1', status: 'PENDING' } } } } })
const readIdempotencyKey = ({ variables }: SentRequest): string =>
  (variables['input'] as { idempotency_key: string }).idempotency_key

test('a call sends its document and its input, and returns the result', async () => {
  const { client, requests } = createFakeClient([createdTransaction])
  expect(await client.payment.transaction.createReceive({ ...INVOICE, idempotency_key: 'order-1' })).toEqual({ id: 't1' })
  const [request] = requests
  expect(request?.query).toMatch(
    /^mutation PaymentTransactionCreateReceive\(\$input: CreateReceiveTransactionInput!\) \{ payment \{ transaction \{ create_receive/,
  )
  expect(request?.variables).toEqual({ input: { ...INVOICE, idempotency_key: 'order-1' } })
})

test('arguments other than one input are sent by their names', async () => {
  const { client, requests } = createFakeClient([FOUND])
  await client.payment.transaction.findOne({ id: 't1' })
  expect(requests[0]?.variables).toEqual({ id: 't1' })
})

test('an operation without arguments takes its options first', async () => {
  const { client } = createFakeClient([answerWith({ data: { account: { me: { id: 'a1' } } } })])
  const controller = new AbortController()
  controller.abort(new Error('closed'))
  await expect(client.account.me({ signal: controller.signal })).rejects.toThrow('closed')
  expect(await client.account.me()).toEqual({ id: 'a1' })
})

test('each credential has its own header', async () => {
  const { client, requests } = createFakeClient([FOUND], { apiKey: 'psb_1', token: 'dashboard', headers: { 'x-shop': '7' } })
  await client.payment.transaction.findOne({ id: 't1' })
  expect(requests[0]?.headers).toEqual({
    'x-api-key': 'psb_1',
    authorization: 'Bearer dashboard',
    'x-shop': '7',
    'content-type': 'application/json',
    accept: 'application/json',
  })
})

test.each(['https://a.example', 'https://a.example/', 'https://a.example/graphql', 'https://a.example/graphql/'])(
  'requests to %s go to its path /graphql',
  async (url) => {
    const { client, requests } = createFakeClient([FOUND], { url })
    await client.payment.transaction.findOne({ id: 't1' })
    expect(requests[0]?.url).toBe('https://a.example/graphql')
  },
)

test('a call without an idempotency key gets one, and repeats it in each attempt', async () => {
  const { client, requests } = createFakeClient(['lost', 'silent', createdTransaction, createdTransaction])
  await client.payment.transaction.createReceive(INVOICE)
  await client.payment.transaction.createReceive(INVOICE)
  const keys = requests.map(readIdempotencyKey)
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(keys.slice(1, 3)).toEqual([keys[0], keys[0]])
  expect(keys[3]).not.toBe(keys[0])
})

test('a failed call tells its idempotency key', async () => {
  const { client, requests } = createFakeClient([])
  const error: unknown = await client.payment.transaction.createReceive(INVOICE).catch((cause: unknown) => cause)
  expect(isPenstockError(error, 'NETWORK_ERROR') && error.idempotencyKey).toBe(requests.map(readIdempotencyKey)[0])
})

test('a purchase is never repeated', async () => {
  const { client, requests } = createFakeClient(['silent', createdTransaction])
  await expect(client.liquidity.buy({ usd_cents: '500' })).rejects.toMatchObject({ code: 'TIMEOUT', idempotencyKey: undefined })
  expect(requests).toHaveLength(1)
})

test('a mutation without an idempotency key is never repeated', async () => {
  const { client, requests } = createFakeClient([refuseWith('INTERNAL_SERVER_ERROR'), createdTransaction])
  await expect(client.payment.wallet.delete({ id: 'w1' })).rejects.toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
  expect(requests).toHaveLength(1)
})

test('a document of the caller is repeated only if the caller permits it', async () => {
  const { client, requests } = createFakeClient(['lost', 'lost', answerWith({ data: { account: { id: 'a1' } } })])
  await expect(client.request('{ account { id } }')).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  expect(await client.request('{ account { id } }', {}, { isRepeatable: true })).toEqual({ account: { id: 'a1' } })
  expect(requests).toHaveLength(3)
})

test('the extensions of an answer reach the caller', async () => {
  const extensions = { idempotency_replayed: true, idempotency_mismatch: true }
  const { client } = createFakeClient([
    answerWith({ data: { payment: { transaction: { create_receive: { id: 't1' } } } }, extensions }),
  ])
  const received: unknown[] = []
  await client.payment.transaction.createReceive(INVOICE, { onExtensions: (value) => received.push(value) })
  expect(received).toEqual([extensions])
})

test('a result that is missing without an error is an invalid answer', async () => {
  const { client } = createFakeClient([answerWith({ data: { payment: { transaction: { find_one: null } } } })])
  await expect(client.payment.transaction.findOne({ id: 't1' })).rejects.toMatchObject({
    code: 'INVALID_RESPONSE',
    message: 'the answer has no payment.transaction.find_one',
  })
})
