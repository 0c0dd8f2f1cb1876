import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runCli } from './run-cli.ts'

/** The requests to the fake service, and its next answer. */
let requests: { readonly what: string; readonly body: unknown; readonly token: string | undefined }[] = []
let answer: { status: number; body: unknown } = { status: 200, body: {} }
let server: Server
let url = ''
const dir = mkdtempSync(join(tmpdir(), 'penstock-cli-'))

beforeAll(async () => {
  writeFileSync(join(dir, 'operator.token'), 'from-the-folder\n')
  server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      requests.push({
        what: `${request.method} ${request.url}`,
        body: text && JSON.parse(text),
        token: request.headers.authorization,
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(dir, { recursive: true })
})
beforeEach(() => {
  requests = []
  answer = { status: 200, body: {} }
})

async function runPenstock(args: readonly string[], env: Record<string, string> = {}) {
  const printed = { out: '', err: '' }
  const environment = { PENSTOCK_URL: `${url}/`, PENSTOCK_DATA_DIR: dir, ...env }
  const code = await runCli(args, {
    env: environment,
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { code, ...printed }
}

const key = `02${'ab'.repeat(32)}`
const hash = 'cd'.repeat(32)
const calls: readonly (readonly [args: readonly string[], what: string, body?: unknown])[] = [
  [['order', 'show', 'an/id'], 'GET /operator/orders/an%2Fid'],
  [['audit', 'verify'], 'POST /operator/audit/verify', {}],
  [['audit', 'verify', '--note', `7:${hash}`], 'POST /operator/audit/verify', { note: `7:${hash}` }],
  [['audit', 'replay', '--order', 'an/id'], 'GET /operator/audit/replay/an%2Fid'],
  [['payout', 'list'], 'GET /operator/payouts'],
  [['payout', 'list', '--limit', '5', '--after', '10'], 'GET /operator/payouts?limit=5&offset=10'],
  [['payment', 'list'], 'GET /operator/payments'],
  [
    ['payment', 'list', '--environment', 'e&1', '--wallet', 'w', '--status', 'pending'],
    'GET /operator/payments?environment=e%261&wallet=w&status=pending',
  ],
  [['payment', 'show', 'an/id'], 'GET /operator/payments/an%2Fid'],
  [['webhook', 'list', '--environment', 'e&1'], 'GET /operator/webhooks?environment=e%261'],
  [
    ['webhook', 'list', '--environment', 'e', '--endpoint', 'w', '--transaction', 't', '--type', 'payment.failed'],
    'GET /operator/webhooks?environment=e&endpoint=w&transaction=t&type=payment.failed',
  ],
  [['webhook', 'show', 'an/id'], 'GET /operator/webhooks/an%2Fid'],
  [['webhook', 'redeliver', 'an/id', '--endpoint', 'e'], 'POST /operator/webhooks/an%2Fid/redeliver', { endpoint: 'e' }],
  [['park', 'list'], 'GET /operator/parked'],
  [['park', 'replay', '--all'], 'POST /operator/parked/replay', { all: true }],
  [['park', 'replay', 'g', 't', 'k'], 'POST /operator/parked/replay', { group: 'g', topic: 't', key: 'k' }],
  [['seller', 'grant', key, '--reason', 'known'], 'POST /operator/sellers/grant', { pubkey: key, reason: 'known' }],
  [['sim', 'nodes'], 'GET /operator/sim/nodes'],
  [['sim', 'pay', 'lnbcrt1'], 'POST /operator/sim/pay', { invoice: 'lnbcrt1' }],
  [['sim', 'pay', 'lnbcrt1', '--from', 'buyer-2'], 'POST /operator/sim/pay', { invoice: 'lnbcrt1', from: 'buyer-2' }],
  [['sim', 'payment', hash], `GET /operator/sim/payments/${hash}`],
  [['sim', 'channels', 'buyer'], 'GET /operator/sim/channels/buyer'],
  [['sim', 'mine', '3'], 'POST /operator/sim/mine', { blocks: 3 }],
  [['sim', 'reorg', '2'], 'POST /operator/sim/reorg', { depth: 2 }],
  [['sim', 'behave', 'ada', 'never-open'], 'POST /operator/sim/behave', { alias: 'ada', how: 'never-open' }],
  [['sim', 'sign', 'spare', 'a text'], 'POST /operator/sim/sign', { alias: 'spare', text: 'a text' }],
  [
    ['sim', 'invoice', 'spare', '2500', '--expiry', '60'],
    'POST /operator/sim/invoice',
    { alias: 'spare', sats: '2500', expirySeconds: 60 },
  ],
  [['sim', 'invoice', 'spare', '2500'], 'POST /operator/sim/invoice', { alias: 'spare', sats: '2500', expirySeconds: 3600 }],
  [
    ['sim', 'open', 'spare', key, '20000'],
    'POST /operator/sim/open',
    { alias: 'spare', pubkey: key, sats: '20000', private: false },
  ],
  [
    ['sim', 'open', 'spare', key, '20000', '--private'],
    'POST /operator/sim/open',
    { alias: 'spare', pubkey: key, sats: '20000', private: true },
  ],
  [
    ['sim', 'open', 'spare', key, '20000', '--private', '--taproot'],
    'POST /operator/sim/open',
    { alias: 'spare', pubkey: key, sats: '20000', private: true, taproot: true },
  ],
  [['sim', 'invoice-status', 'spare', hash], `GET /operator/sim/invoices/spare/${hash}`],
]

test.each(calls.map(([args, what, body]) => ({ args, what, body })))(
  '$args requests $what and prints the answer unchanged',
  async ({ args, what, body }) => {
    const audited = { divergences: 0, ledger_balanced: true, first: null, log: { heads: 2, signed: true, unproven: null } }
    answer.body = { streams: 2, events: 5, ...audited, nested: [{ amount_sat: '1' }] }
    const { code, out, err } = await runPenstock([...args, '--json'])
    expect(requests).toEqual([{ what, body: body ?? '', token: 'Bearer from-the-folder' }])
    expect(JSON.parse(out)).toEqual(answer.body)
    expect({ code, err }).toEqual({ code: 0, err: '' })
  },
)

test.each(calls.map(([args]) => [args.slice(0, 2)] as const))('%j --help shows an example', async (args) => {
  const { code, out } = await runPenstock([...args, '--help'])
  expect(code).toBe(0)
  expect(out).toContain(`Example:\n  $ penstock ${args.join(' ')}`)
})

test.each([
  [['sim', 'mine', '0'], /whole number above zero/],
  [['sim', 'open', 'spare', key, '-5'], /whole number of satoshis/],
  [['sim', 'behave', 'ada', 'rude'], /Allowed choices are ok, slow/],
  [['payout', 'list', '--limit', '0'], /whole number above zero/],
  [['order', 'show'], /Missing required argument 'id'/],
  [['payment', 'show'], /Missing required argument 'id'/],
  [['payment', 'list', '--status', 'open'], /Allowed choices are pending, completed, failed, expired/],
  [['audit', 'replay'], /--order/],
  [['audit', 'export', '--order', 'x'], /--out/],
  [['audit', 'diff'], /--against/],
  [['audit', 'check'], /Missing required argument 'file'/],
  [['audit', 'check', '/nowhere/order.json'], /cannot be verified/],
  [['audit', 'verify', '--key', 'k'], /--key and --heads need --store/],
  [['audit', 'verify', '--heads', 'h'], /--key and --heads need --store/],
  [['seller', 'grant', key], /--reason/],
  [['park', 'replay', 'group'], /group, topic and key/],
  [['park', 'replay', 'g', 't', 'k', '--all'], /group, topic and key/],
  [['nonsense'], /Unknown command 'nonsense'/],
])('%j is refused with an explanation, and no request is sent', async (args, sentence) => {
  const { code, out, err } = await runPenstock(args)
  expect({ code, out, asked: requests }).toEqual({ code: 1, out: '', asked: [] })
  expect(err).toMatch(sentence)
  expect(err).not.toMatch(/ at .*:\d+/)
})

test("a refused command prints the service's message, or the HTTP status if the answer has no message", async () => {
  answer = { status: 404, body: { error: 'There is no order with this id.' } }
  expect(await runPenstock(['order', 'show', 'x', '--json'])).toEqual({
    code: 1,
    out: '',
    err: 'There is no order with this id.\n',
  })
  answer = { status: 502, body: 'nothing useful' }
  expect((await runPenstock(['order', 'show', 'x'])).err).toMatch(/HTTP 502/)
})

test('a command without a reachable service or a readable token fails with an explanation', async () => {
  const closedServer = createServer()
  await new Promise<void>((resolve) => closedServer.listen(0, '127.0.0.1', resolve))
  const address = closedServer.address()
  await new Promise((resolve) => closedServer.close(resolve))
  const port = typeof address === 'object' && address ? address.port : 0
  const unreachable = await runPenstock(['park', 'list'], { PENSTOCK_URL: `http://127.0.0.1:${port}` })
  expect(unreachable).toMatchObject({ code: 1, out: '' })
  expect(unreachable.err).toMatch(/^No service answers at .*npm start/)
  const tokenless = await runPenstock(['park', 'list'], { PENSTOCK_DATA_DIR: join(dir, 'empty') })
  expect(tokenless).toMatchObject({ code: 1, out: '' })
  expect(tokenless.err).toMatch(/operator's token cannot be read/)
})

test.each(['market.example', 'javascript:alert(1)', 'https://user:secret@host', 'ftp://host', 'http://host/?a=b'])(
  'PENSTOCK_URL=%s is refused with the form that it must have, and no request is sent',
  async (address) => {
    const { code, out, err } = await runPenstock(['park', 'list'], { PENSTOCK_URL: address })
    expect({ code, out, requests }).toEqual({ code: 1, out: '', requests: [] })
    expect(err).toMatch(/^PENSTOCK_URL is ".+"; it must be an http:\/\/ or https:\/\/ address/)
    expect(err).not.toContain('secret')
  },
)

test('PENSTOCK_URL may have blanks around it, slashes at its end and a path', async () => {
  for (const end of ['', '/', '//', '/shop/', ' \n']) await runPenstock(['park', 'list'], { PENSTOCK_URL: `${url}${end}` })
  const operatorPath = 'GET /operator/parked'
  expect(requests.map(({ what }) => what)).toEqual([
    operatorPath,
    operatorPath,
    operatorPath,
    'GET /shop/operator/parked',
    operatorPath,
  ])
})

test('a token in the environment has precedence over the token file of the data folder', async () => {
  await runPenstock(['park', 'list'], { PENSTOCK_OPERATOR_TOKEN: 'given' })
  expect(requests[0]?.token).toBe('Bearer given')
  writeFileSync(join(dir, 'mounted'), 'from-a-file\n')
  await runPenstock(['park', 'list'], { PENSTOCK_OPERATOR_TOKEN: 'given', PENSTOCK_OPERATOR_TOKEN_FILE: join(dir, 'mounted') })
  expect(requests[1]?.token).toBe('Bearer from-a-file')
})

test('audit verify prints the stream and revision of the first divergence, and fails', async () => {
  const report = {
    streams: 2,
    events: 5,
    divergences: 1,
    ledger_balanced: true,
    first: { stream: 'order-1', revision: 3, what: 'the state hash differs' },
  }
  answer.body = report
  const { code, out, err } = await runPenstock(['audit', 'verify', '--json'])
  expect(JSON.parse(out)).toEqual(report)
  expect({ code, err }).toEqual({ code: 1, err: 'order-1 diverges at revision 3: the state hash differs\n' })
  answer.body = { ...report, divergences: 0, first: null, ledger_balanced: false }
  expect(await runPenstock(['audit', 'verify'])).toMatchObject({ code: 1, err: 'The ledger does not balance.\n' })
})

test('order show without --json prints an order as text', async () => {
  answer.body = {
    id: 'the-id',
    status: 'VALID_CHANNEL_OPENING',
    payment_status: 'SUCCESSFUL_PAYMENT',
    size_sat: '5000000',
    seller_pubkey: key,
    statuses: [
      { status: 'WAITING_FOR_SELLER_APPROVAL', at: '2026-01-01T00:00:00.000Z' },
      { status: 'VALID_CHANNEL_OPENING', at: '2026-01-01T00:01:05.000Z' },
    ],
    attempts: [{ seller_pubkey: key, status: 'opened' }],
    hold: { status: 'settled', expiry_height: 1200, cancelled_at: null },
    ledger: [
      {
        posting: 'settled',
        at: '2026-01-01T00:01:05.000Z',
        entries: [
          { account: 'received', amountMsat: '2500000' },
          { account: 'payable', amountMsat: '-2500000' },
        ],
      },
    ],
    incidents: [],
    timeline: [
      { at: '2026-01-01T00:00:00.000Z', stream: 'order', fact: 'OutpointAccepted', data: { attempt: 1, outpoint: `${hash}:0` } },
    ],
  }
  const { out } = await runPenstock(['order', 'show', 'the-id'])
  expect(out).toMatch(/^Order the-id\nVALID_CHANNEL_OPENING\n/)
  expect(out).toMatch(/size +5,000,000 sat\n/)
  expect(out).toMatch(/ {2}STATUS +AT +LASTED\n {2}WAITING_FOR_SELLER_APPROVAL .* 1 min 5 s\n/)
  expect(out).toMatch(/Attempts\n {2}SELLER PUBKEY +STATUS\n {2}02abababab…ababab +opened\n/)
  expect(out).toMatch(/cancelled at +-\n/)
  expect(out).toMatch(/received +2,500,000 msat\n +payable +-2,500,000 msat\n/)
  expect(out).toMatch(/Incidents\n {2}none\n/)
  expect(out).toMatch(/order +OutpointAccepted +attempt 1, outpoint cdcdcdcdcd…cdcdcd:0\n/)
})

test('payout list without --json prints open payouts as a table', async () => {
  const payout = {
    order: 'the-id',
    amount_msat: '2500000',
    creditor: 'seller',
    state: 'withheld',
    since: null,
    reason: 'It waits.',
  }
  const withheld = [
    { cause: 'reorg', until_height: 905, reason: 'It waits.' },
    { cause: 'terms', until_height: 1010, reason: 'x' },
  ]
  answer.body = { total: 3, payouts: [{ ...payout, withheld }] }
  const { out } = await runPenstock(['payout', 'list'])
  expect(out).toMatch(/^ORDER +AMOUNT +CREDITOR +STATE +SINCE +WITHHELD +REASON\n/)
  expect(out).toMatch(/\nthe-id +2,500,000 msat +seller +withheld +- +reorg until 905, terms until 1010 +It waits\.\n1 of 3\n$/)
  answer.body = { total: 0, payouts: [] }
  expect((await runPenstock(['payout', 'list'])).out).toBe('No payout is open.\n')
})

test('payment list and payment show without --json print transactions as text', async () => {
  const transaction = {
    id: 'the-id',
    direction: 'RECEIVE',
    status: 'COMPLETED',
    asset: 'BTC',
    base_units: '1000',
    ends_at: '2026-01-01T00:10:00.000Z',
  }
  answer.body = { total: 3, transactions: [transaction] }
  const { out } = await runPenstock(['payment', 'list'])
  expect(out).toMatch(
    /^ID +DIRECTION +STATUS +ASSET +BASE UNITS +ENDS AT\nthe-id +RECEIVE +COMPLETED +BTC +1000 +2026-.*\n1 of 3\n$/,
  )
  answer.body = { total: 0, transactions: [] }
  expect((await runPenstock(['payment', 'list'])).out).toBe('There is no transaction.\n')
  const facts = [{ at: '2026-01-01T00:00:00.000Z', fact: 'ReceiveCompleted' }]
  answer.body = { ...transaction, amount_msat: '1000000', settled_at: null, facts }
  const shown = (await runPenstock(['payment', 'show', 'the-id'])).out
  expect(shown).toMatch(/^id +the-id\ndirection +RECEIVE\nstatus +COMPLETED\n/)
  expect(shown).toMatch(/amount +1,000,000 msat\nsettled at +-\n/)
  expect(shown).toMatch(/\n\nFacts\n {2}AT +FACT\n {2}20.* ReceiveCompleted\n$/)
})

test('webhook list and webhook show without --json print events as text', async () => {
  const event = { id: 'the-id', type: 'payment.completed', transaction: 't', created_at: '2026-01-01T00:00:00.000Z' }
  answer.body = { total: 3, events: [{ ...event, delivered: 1, failed: 2, waiting: 0 }] }
  const { out } = await runPenstock(['webhook', 'list', '--environment', 'e'])
  expect(out).toMatch(
    /^ID +TYPE +TRANSACTION +CREATED AT +DELIVERED +FAILED +WAITING\nthe-id +payment\.completed .* 1 +2 +0\n1 of 3\n$/,
  )
  answer.body = { total: 0, events: [] }
  expect((await runPenstock(['webhook', 'list', '--environment', 'e'])).out).toBe('There is no webhook event.\n')
  answer.body = { ...event, attempts: [{ endpoint: 'w', number: 1, status: 'FAILED', http_status: 500 }] }
  const shown = (await runPenstock(['webhook', 'show', 'the-id'])).out
  expect(shown).toMatch(/^id +the-id\ntype +payment\.completed\n/)
  expect(shown).toMatch(/\n\nAttempts\n {2}ENDPOINT +NUMBER +STATUS +HTTP STATUS\n {2}w +1 +FAILED +500\n$/)
})

test('tables are aligned, and an empty table becomes a sentence', async () => {
  answer.body = [
    { alias: 'buyer', role: 'buyer', pubkey: key, uri: `${key}@buyer.sim:9735`, balance_sat: '1000' },
    { alias: 'seller-ada', role: 'seller', pubkey: key, uri: `${key}@a:1`, balance_sat: '123456789' },
  ]
  const { out } = await runPenstock(['sim', 'nodes'])
  const [heading, first, second] = out.split('\n')
  expect(heading).toMatch(/^ALIAS +ROLE +URI +BALANCE$/)
  expect(first?.length).toBe(second?.length)
  answer.body = []
  expect((await runPenstock(['park', 'list'])).out).toBe('No message is parked.\n')
})

test('a command fails if the answer has an error in its body, even with status 200', async () => {
  answer = { status: 200, body: { error: 'the audit could not be made: the store is gone' } }
  const { code, out, err } = await runPenstock(['audit', 'verify'])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain('the store is gone')
})
