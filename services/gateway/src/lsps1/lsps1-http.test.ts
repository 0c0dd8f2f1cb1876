import { Fault } from '@penstock/kernel/result.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  callLsp,
  addSeller,
  assertConforms,
  postOrder,
  useLspHarness,
  fetchOrder,
  fetchInfo,
  lspHarness,
  reopenLspHarness,
  makeOrderBody,
} from './lsps1.fixture.ts'
import { makeBusy } from '../market/fake-market.fixture.ts'
import { findOrderByPageHash } from '../market/read/orders.ts'
import { hashPageToken } from '../pages/page-url.ts'
import { createLspOpenApi } from './openapi.ts'
import type { LspError, LspOrder } from './schemas.ts'

useLspHarness()

describe('HTTP', () => {
  const raw = (path: string, init: RequestInit) => fetch(`${lspHarness.base}/api/lsp/v1/${path}`, init)
  const json = { 'content-type': 'application/json' }

  test('malformed JSON gets status 400, another content type 415, and a large body 413', async () => {
    const bodies: readonly [number, RequestInit][] = [
      [400, { headers: json, body: '{"lsp' }],
      [400, { headers: json, body: '' }],
      [415, { headers: { 'content-type': 'text/plain' }, body: '{}' }],
      [415, { headers: { 'content-type': 'application/json; charset=latin9' }, body: '{}' }],
      [413, { headers: json, body: JSON.stringify({ token: 'x'.repeat(70_000) }) }],
    ]
    for (const [status, init] of bodies) {
      const response = await raw('cheapest/create_order', { method: 'POST', ...init })
      const body = (await response.json()) as LspError
      assertConforms('LspError', body)
      assert.deepEqual([response.status, body.statusCode, body.error.code], [status, status, -32602])
    }
  })

  test('a base address that ends in a slash, and other forms of the content type, lead to the same answers', async () => {
    await addSeller(1)
    for (const path of ['recommended//get_info', '/recommended/get_info', 'recommended//api/v1//get_info'])
      assert.equal((await raw(path, {})).status, 200, path)
    for (const type of ['application/json; charset=utf8', 'application/json; charset="UTF-8"; v=1']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: JSON.stringify(makeOrderBody()) }
      assert.equal((await raw('recommended//create_order', init)).status, 200, type)
    }
  })

  test("create_order tells the order's page, which takes the buyer's invoice, and get_order does not", async () => {
    await addSeller(1)
    const init = { method: 'POST', headers: json, body: JSON.stringify(makeOrderBody()) }
    const created = await raw('cheapest/create_order', init)
    const { order_id: id } = (await created.json()) as LspOrder
    const url = /^<(https:.*)>; rel="alternate"; type="text\/html"$/.exec(created.headers.get('link') ?? '')?.[1] ?? assert.fail()
    const { gateway } = lspHarness
    const page = await findOrderByPageHash(gateway.views, hashPageToken(url.split('/orders/')[1] ?? ''))
    assert.equal(page?.order.id, id)
    const entry = (account: string, amountMsat: string) => ({ account, amountMsat })
    await lspHarness.projectFacts('settlement', id, [
      { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000', confirmations: 3 } },
      { type: 'LedgerPosted', data: { posting: 'settled', entries: [entry('received', '2000'), entry('payable', '-2000')] } },
      { type: 'PayableClosed', data: { reason: 'The funding is gone.', height: 1912 } },
      {
        type: 'LedgerPosted',
        data: { posting: 'owed-to-buyer', entries: [entry('payable', '2000'), entry('owed-to-buyer', '-2000')] },
      },
    ])
    const read = await raw(`cheapest/get_order?order_id=${id}`, {})
    const order = (await read.json()) as LspOrder
    assertConforms('LspOrder', order)
    assert.deepEqual(order.refund, { amount_msat: '2000' })
    assert.ok(!JSON.stringify([order, [...read.headers]]).includes(url.split('/orders/')[1] ?? ''))
  })

  test('another method gets status 405 with the allowed methods, a preflight 204, and an unknown path 404', async () => {
    for (const [path, method, allow] of [
      ['cheapest/create_order', 'GET', 'POST, OPTIONS'],
      ['cheapest/get_info', 'POST', 'GET, HEAD, OPTIONS'],
      ['openapi.json', 'DELETE', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const response = await raw(path, { method })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allow])
      assertConforms('LspError', await response.json())
    }
    const preflight = await raw('cheapest/create_order', { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
    const wrong = { 'best/get_info': 'type', get_info: 'type', '': 'type', 'cheapest/nothing': 'path' }
    for (const [path, property] of Object.entries(wrong)) {
      const { status, body } = await callLsp<LspError>(path, 'LspInfo')
      assert.deepEqual([status, body.error.code, body.error.data.property], [404, 101, property])
    }
  })

  test('an order over the limit gets status 429 with the time to wait', async () => {
    await lspHarness.close()
    await reopenLspHarness({ PENSTOCK_BUY_PER_MINUTE: '1' })
    await addSeller(1)
    assert.equal((await postOrder(makeOrderBody())).status, 200)
    const { status, body, headers } = await postOrder<LspError>(makeOrderBody())
    assert.deepEqual([status, body.statusCode], [429, 429])
    assert.ok(Number(headers.get('retry-after')) > 0)
    assert.match(headers.get('ratelimit-policy') ?? '', /^"buy";q=1/)
  })

  test('an order does not count for the limit if the market becomes busy after the count', async () => {
    await lspHarness.close()
    await reopenLspHarness({ PENSTOCK_BUY_PER_MINUTE: '1' })
    await addSeller(1)
    const { admission } = lspHarness.gateway
    const busy = { enter: () => ({ busyForSeconds: 9 }), isFull: () => false }
    Object.assign(lspHarness.gateway, { admission: busy })
    for (let n = 0; n < 2; n++) assert.equal((await postOrder<LspError>(makeOrderBody())).status, 503)
    Object.assign(lspHarness.gateway, { admission })
    assert.deepEqual([(await postOrder(makeOrderBody())).status, (await postOrder(makeOrderBody())).status], [200, 429])
  })

  test('PENSTOCK_ORDER_POLLS_PER_MINUTE limits the reads of each order', async () => {
    await lspHarness.close()
    await reopenLspHarness({ PENSTOCK_ORDER_POLLS_PER_MINUTE: '2' })
    await addSeller(1)
    const [one, two] = [(await postOrder(makeOrderBody())).body.order_id, (await postOrder(makeOrderBody())).body.order_id]
    const statuses = [await fetchOrder(one), await fetchOrder(one), await fetchOrder(two), await fetchOrder(one)].map(
      ({ status }) => status,
    )
    assert.deepEqual(statuses, [200, 200, 200, 429])
  })

  test('a busy market answers with status 503 and the time to wait, and reads and stores nothing', async () => {
    await addSeller(1)
    makeBusy(lspHarness, 9)
    const { status, body, headers } = await postOrder<LspError>(makeOrderBody({ token: 'from-a-friend' }))
    assert.deepEqual([status, body.statusCode, headers.get('retry-after')], [503, 503, '9'])
    assert.equal(body.message, 'The market is busy; try again in 9 seconds.')
    assert.equal(lspHarness.sent.length, 0)
    const mismatched = await postOrder<LspError>(makeOrderBody({ client_balance_sat: '1' }))
    assert.deepEqual([mismatched.status, mismatched.body.error.code], [400, 100])
  })

  test('an order that is not ready in time gets no status 5xx, because clients would repeat the request', async () => {
    await lspHarness.close()
    await reopenLspHarness({ PENSTOCK_BUY_ANSWER_SECONDS: '1' })
    await addSeller(1)
    const fail = () => Promise.reject(new Fault('the brokers have not confirmed messages in time'))
    for (const respond of [() => Promise.resolve(), fail]) {
      lspHarness.respondWith(respond)
      const { status, body } = await postOrder<LspError>(makeOrderBody())
      assert.deepEqual([status, body.statusCode, body.error.code], [409, 409, 1])
      assert.match(body.message, /^The order was not ready in time and is withdrawn/)
    }
  })

  test('a starting service answers with status 503', async () => {
    await lspHarness.close()
    await reopenLspHarness({}, () => 'the read models')
    const { status, headers } = await fetchInfo()
    assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
  })

  test('the gateway serves the OpenAPI document of its settings', async () => {
    const response = await raw('openapi.json', {})
    assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(createLspOpenApi(lspHarness.gateway.config))))
  })
})
