import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { BUYER_URI, FAKE_PREIMAGE, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../gateway-harness.fixture.ts'
import { mountPageRoutes } from './routes.ts'

const BUY = `mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  order { transaction_id } payment { redirect_url } } } }`
const held = {
  type: 'PaymentHeld',
  data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
}
const valid = { type: 'OrderValid', data: { settledAt: NOW } }

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({ mounts: [mountPageRoutes] })
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

/** Buys a channel. @returns the order's id, and the token of its pages */
async function buy(more: object = {}): Promise<{ readonly id: string; readonly token: string }> {
  const answer = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500', ...more } })
  const id = String(readPath(answer, 'liquidity.buy.order.transaction_id'))
  const token = deriveCheckoutToken(market.gateway.pepper, id)
  assert.equal(readPath(answer, 'liquidity.buy.payment.redirect_url'), `https://market.example/checkout/${token}`)
  return { id, token }
}
const visit = (path: string, headers: Record<string, string> = { accept: 'text/html' }) => fetch(market.base + path, { headers })
const read = async (path: string) => (await visit(path)).text()

test('before the payment, the page shows invoice, QR code, amounts and expiry, but not the order id', async () => {
  const { id, token } = await buy()
  const response = await visit(`/checkout/${token}`)
  const html = await response.text()
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
  for (const expected of [
    'lnbcrt30u1fake',
    'href="lightning:lnbcrt30u1fake"',
    '<svg',
    '<strong>3,000</strong> sat',
    '5.00 USD',
    'data-countdown="1900000000000"',
    `data-now="${NOW}"`,
    '2030-03-17T17:46:40.000Z',
  ])
    assert.ok(html.includes(expected), expected)
  assert.ok(!html.includes(id) && !html.includes('VALID_CHANNEL_OPENING'))
})

test('pages contain no inline code, send no referrer, and are neither cached nor framed', async () => {
  const { token } = await buy()
  for (const path of [`/checkout/${token}`, `/orders/${token}`, '/', '/nothing']) {
    const response = await visit(path)
    const html = await response.text()
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.ok(
      !policy.includes('unsafe') && policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"),
      policy,
    )
    assert.deepEqual(
      [response.headers.get('referrer-policy'), response.headers.get('cache-control')],
      ['no-referrer', 'no-store'],
    )
    assert.doesNotMatch(html, / style=| on\w+=|<style|<script(?! type="module" src="\.\.\/assets\/)/)
  }
})

describe('after the payment', () => {
  test('the checkout page shows the status, and links to the redirect_url', async () => {
    const { id, token } = await buy({ redirect_url: 'https://shop.example/thanks?a=<b>&c="d"' })
    assert.ok(!(await read(`/checkout/${token}`)).includes('shop.example'))
    await market.projectFacts('order', id, [held, valid])
    const html = await read(`/checkout/${token}`)
    for (const expected of [
      'VALID_CHANNEL_OPENING',
      'Your channel is ready',
      '<b>shop.example</b>',
      'Continue to shop.example',
      'data-final="true"',
    ])
      assert.ok(html.includes(expected), expected)
    assert.ok(html.includes('href="https://shop.example/thanks?a=%3Cb%3E&amp;c=%22d%22"'))
    assert.ok(!html.includes('lnbcrt30u1fake') && !html.includes(id))
  })

  test('the checkout page links to the status page if the order has no redirect_url', async () => {
    const { id, token } = await buy()
    await market.projectFacts('order', id, [held, valid])
    assert.ok((await read(`/checkout/${token}`)).includes(`href="../orders/${token}"`))
    const status = await read(`/orders/${token}`)
    assert.ok(status.includes('VALID_CHANNEL_OPENING') && !status.includes(id))
  })

  test('the status page escapes the text of a participant', async () => {
    const { id, token } = await buy()
    await market.projectFacts('order', id, [
      { type: 'BuyerRejected', data: { reason: '<script>alert(1)</script> "changed" its mind' } },
    ])
    const html = await read(`/orders/${token}`)
    assert.ok(html.includes('&lt;script&gt;alert(1)&lt;/script&gt; &quot;changed&quot;') && !html.includes('<script>'))
    assert.ok(html.includes('Nothing was paid.'))
  })
})

test("the status page shows the seller's text for its rejection while the record exists", async () => {
  const { id, token } = await buy()
  await market.gateway.records.put(id, 'reject-reason', JSON.stringify({ reason: 'my coins are <b>elsewhere</b>' }), NOW)
  const record = { id, hash: 'a'.repeat(64) }
  await market.projectFacts('order', id, [{ type: 'SellerRejected', data: { reason: 'The seller rejected the order', record } }])
  assert.ok((await read(`/orders/${token}`)).includes('my coins are &lt;b&gt;elsewhere'))
  await market.gateway.records.delete(id)
  assert.ok((await read(`/orders/${token}`)).includes('The seller rejected the order'))
})

test('the status page of an unpaid order links to its checkout', async () => {
  const { token } = await buy()
  const html = await read(`/orders/${token}`)
  assert.ok(html.includes(`href="../checkout/${token}"`) && !html.includes('lnbcrt30u1fake'))
})

test('an unknown path is answered with a page for a browser and JSON for a program', async () => {
  const { id } = await buy()
  for (const path of [`/checkout/${'A'.repeat(43)}`, `/orders/${id}`, '/checkout/short', '/nothing']) {
    const response = await visit(path)
    assert.equal(response.status, 404)
    assert.ok((await response.text()).includes('There is nothing at this address'))
  }
  assert.equal((await visit(`/checkout/${'A'.repeat(43)}/events`)).status, 404)
  const program = await visit('/nothing', { accept: '*/*' })
  assert.deepEqual(
    [program.status, await program.json()],
    [404, { statusCode: 404, message: 'There is nothing at this address.' }],
  )
})

test('the start page shows the price, or the reason why none is available', async () => {
  assert.ok((await read('/')).includes('No price now:'))
  const rate = { centsPerBtc: '10000000', at: NOW, samples: [] }
  await market.projectFacts('price', '2027-01-31', [
    { type: 'PriceSet', data: { satsPerUsd: '384000', usdPerUsd: '384.00', rate, validUntil: NOW + 60_000 } },
  ])
  const html = await read('/')
  for (const expected of ['384,000', './graphql', './api/lsp/v1/openapi.json', 'https://market.example/graphql'])
    assert.ok(html.includes(expected), expected)
})

test('the assets of pages have versioned URLs, and browsers may cache them for ever', async () => {
  const html = await read('/')
  const paths = [...html.matchAll(/(?:href|src)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
  assert.equal(paths.length, 3)
  const { token } = await buy()
  paths.push(/src="\.\.(\/assets\/live\.mjs\?v=[\w-]+)"/.exec(await read(`/checkout/${token}`))?.[1] ?? assert.fail())
  const types = ['image/svg+xml', 'text/css', 'text/javascript']
  for (const path of paths) {
    const response = await visit(path)
    assert.equal(response.status, 200)
    assert.ok(types.some((type) => response.headers.get('content-type')?.startsWith(type)))
    assert.match(response.headers.get('cache-control') ?? '', /immutable/)
  }
})

describe('an amount that is owed to the buyer', () => {
  const secret = new Uint8Array(32).fill(5)
  const encodeInvoice = (change: { amountMsat?: bigint; expirySeconds?: number; cltvDelta?: number } = {}) =>
    encodePaymentRequest(
      {
        network: 'regtest',
        paymentHash: '0f'.repeat(32),
        amountMsat: 2_000_000n,
        paymentSecret: '22'.repeat(32),
        createdAt: 1_795_000_000_000,
        expirySeconds: 200_000_000,
        cltvDelta: 40,
        description: 'back',
        ...change,
      },
      secret,
    )
  const invoice = encodeInvoice()
  const entry = (account: string, amountMsat: string) => ({ account, amountMsat })
  const owed = [
    { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000', confirmations: 3 } },
    { type: 'LedgerPosted', data: { posting: 'settled', entries: [entry('received', '2000000'), entry('payable', '-2000000')] } },
    { type: 'PayableClosed', data: { height: 1912, reason: 'The funding is gone.' } },
    {
      type: 'LedgerPosted',
      data: { posting: 'owed-to-buyer', entries: [entry('payable', '2000000'), entry('owed-to-buyer', '-2000000')] },
    },
  ]
  const submitInvoice = (token: string, request: string, preimage = FAKE_PREIMAGE) =>
    fetch(`${market.base}/orders/${token}/refund`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
      body: new URLSearchParams({ request, preimage }),
    })

  test("is shown on the order's page, with a form for the invoice", async () => {
    const { id, token } = await buy()
    await market.projectFacts('order', id, [held, valid])
    assert.ok(!(await read(`/orders/${token}`)).includes('<form'))
    await market.projectFacts('settlement', id, owed)
    const html = await read(`/orders/${token}`)
    assert.ok(html.includes('2,000 sat are yours') && html.includes(`action="../orders/${token}/refund"`))
    assert.ok(!html.includes(id))
    market.respondWith((ask, options) =>
      market.projectFacts(
        'settlement',
        id,
        [{ type: 'PayoutInvoiceSubmitted', data: { ...ask.command.data, creditor: 'buyer' } }],
        options.commandId,
      ),
    )
    const answer = await submitInvoice(token, ` ${invoice}\n`, ` ${FAKE_PREIMAGE.toUpperCase()}`)
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, `../../orders/${token}`])
    assert.deepEqual(market.sent.at(-1)?.ask.command, {
      type: 'SubmitRefundInvoice',
      data: {
        request: invoice,
        paymentHash: '0f'.repeat(32),
        payee: derivePubkey(secret),
        amountMsat: '2000000',
        expiresAt: 1_995_000_000_000,
        proof: proveRefund(FAKE_PREIMAGE, { orderId: id, request: invoice }),
      },
    })
    assert.ok(!JSON.stringify(market.sent).includes(FAKE_PREIMAGE))
  })

  test('needs the preimage of the payment, and no other one', async () => {
    const { id, token } = await buy()
    await market.projectFacts('order', id, [held, valid])
    await market.projectFacts('settlement', id, owed)
    const commandCount = market.sent.length
    for (const [preimage, message] of [
      ['', /Give the preimage of your payment/],
      ['abc', /Give the preimage of your payment/],
      ['00'.repeat(32), /This preimage is of another payment/],
    ] as const) {
      const answer = await submitInvoice(token, invoice, preimage)
      assert.equal(answer.status, 422)
      assert.match(await answer.text(), message)
    }
    assert.equal(market.sent.length, commandCount)
  })

  test("is paid to no invalid or refused invoice, and to no caller without the page's URL", async () => {
    const { id, token } = await buy()
    await market.projectFacts('order', id, [held, valid])
    const early = await submitInvoice(token, invoice)
    assert.equal(early.status, 422)
    await market.projectFacts('settlement', id, owed)
    const invalid = await submitInvoice(token, 'lnbc1<b>')
    assert.equal(invalid.status, 422)
    const invalidPage = await invalid.text()
    assert.match(invalidPage, /This is no Lightning invoice/)
    assert.ok(invalidPage.includes('>lnbc1&lt;b&gt;</textarea>'))
    const commandCount = market.sent.length
    for (const wrong of [{ amountMsat: 1_999_999n }, { expirySeconds: 1 }, { cltvDelta: 5000 }])
      assert.equal((await submitInvoice(token, encodeInvoice(wrong))).status, 422)
    assert.equal(market.sent.length, commandCount)
    market.respondWith((_, options) =>
      market.projectFacts(
        'settlement',
        id,
        [{ type: 'PayoutInvoiceRefused', data: { paymentHash: '0f'.repeat(32), reason: 'The hash was used before.' } }],
        options.commandId,
      ),
    )
    const refused = await submitInvoice(token, invoice)
    assert.equal(refused.status, 422)
    assert.match(await refused.text(), /role="alert">The hash was used before\./)
    assert.equal((await submitInvoice('a'.repeat(43), invoice)).status, 404)

    // Another order may have claimed the payment hash, which is known only after the form was answered.
    const paymentHash = '0f'.repeat(32)
    await market.projectFacts('settlement', id, [
      {
        type: 'PayoutInvoiceSubmitted',
        data: {
          request: invoice,
          paymentHash,
          payee: derivePubkey(secret),
          amountMsat: '2000000',
          expiresAt: 1,
          creditor: 'buyer',
        },
      },
      { type: 'PayoutInvoiceRefused', data: { paymentHash, reason: 'This payment hash was used for another order.' } },
    ])
    assert.match(await read(`/orders/${token}`), /role="alert">This payment hash was used for another order\./)
  })
})
