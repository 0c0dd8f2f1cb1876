import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runCli } from './run.ts'

/** What the fake service was asked, and what it answers next. */
let asked: { readonly what: string; readonly body: unknown; readonly token: string | undefined }[] = []
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
      asked.push({
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
  asked = []
  answer = { status: 200, body: {} }
})

async function penstock(args: readonly string[], env: Record<string, string> = {}) {
  const printed = { out: '', err: '' }
  const surroundings = { PENSTOCK_URL: `${url}/`, PENSTOCK_DATA_DIR: dir, ...env }
  const code = await runCli(args, {
    env: surroundings,
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
  '$args asks $what and prints the answer as it came',
  async ({ args, what, body }) => {
    const audited = { divergences: 0, ledger_balanced: true, first: null, log: { heads: 2, signed: true, unproven: null } }
    answer.body = { streams: 2, events: 5, ...audited, nested: [{ amount_sat: '1' }] }
    const { code, out, err } = await penstock([...args, '--json'])
    expect(asked).toEqual([{ what, body: body ?? '', token: 'Bearer from-the-folder' }])
    expect(JSON.parse(out)).toEqual(answer.body)
    expect({ code, err }).toEqual({ code: 0, err: '' })
  },
)

test.each(calls.map(([args]) => [args.slice(0, 2)] as const))('%j --help has an example', async (args) => {
  const { code, out } = await penstock([...args, '--help'])
  expect(code).toBe(0)
  expect(out).toContain(`Example:\n  $ penstock ${args.join(' ')}`)
})

test.each([
  [['sim', 'mine', '0'], /whole number above zero/],
  [['sim', 'open', 'spare', key, '-5'], /whole number of satoshis/],
  [['sim', 'behave', 'ada', 'rude'], /Allowed choices are ok, slow/],
  [['payout', 'list', '--limit', '0'], /whole number above zero/],
  [['order', 'show'], /Missing required argument 'id'/],
  [['audit', 'replay'], /--order/],
  [['audit', 'export', '--order', 'x'], /--out/],
  [['audit', 'diff'], /--against/],
  [['audit', 'check'], /Missing required argument 'file'/],
  [['audit', 'check', '/nowhere/order.json'], /cannot be verified/],
  [['audit', 'verify', '--key', 'k'], /--key and --heads go with --store/],
  [['audit', 'verify', '--heads', 'h'], /--key and --heads go with --store/],
  [['seller', 'grant', key], /--reason/],
  [['park', 'replay', 'group'], /group, topic and key/],
  [['park', 'replay', 'g', 't', 'k', '--all'], /group, topic and key/],
  [['nonsense'], /Unknown command 'nonsense'/],
])('%j is refused with a sentence, and nothing is asked', async (args, sentence) => {
  const { code, out, err } = await penstock(args)
  expect({ code, out, asked }).toEqual({ code: 1, out: '', asked: [] })
  expect(err).toMatch(sentence)
  expect(err).not.toMatch(/ at .*:\d+/)
})

test("the service's own sentence is the error", async () => {
  answer = { status: 404, body: { error: 'There is no order with this id.' } }
  expect(await penstock(['order', 'show', 'x', '--json'])).toEqual({ code: 1, out: '', err: 'There is no order with this id.\n' })
  answer = { status: 502, body: 'nothing useful' }
  expect((await penstock(['order', 'show', 'x'])).err).toMatch(/HTTP 502/)
})

test('without a service, or without a token, it says what to do', async () => {
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const address = gone.address()
  await new Promise((resolve) => gone.close(resolve))
  const port = typeof address === 'object' && address ? address.port : 0
  const unreachable = await penstock(['park', 'list'], { PENSTOCK_URL: `http://127.0.0.1:${port}` })
  expect(unreachable).toMatchObject({ code: 1, out: '' })
  expect(unreachable.err).toMatch(/^No service answers at .*npm start/)
  const tokenless = await penstock(['park', 'list'], { PENSTOCK_DATA_DIR: join(dir, 'empty') })
  expect(tokenless).toMatchObject({ code: 1, out: '' })
  expect(tokenless.err).toMatch(/operator's token cannot be read/)
})

test('the token of the environment comes first', async () => {
  await penstock(['park', 'list'], { PENSTOCK_OPERATOR_TOKEN: 'given' })
  expect(asked[0]?.token).toBe('Bearer given')
  writeFileSync(join(dir, 'mounted'), 'from-a-file\n')
  await penstock(['park', 'list'], { PENSTOCK_OPERATOR_TOKEN: 'given', PENSTOCK_OPERATOR_TOKEN_FILE: join(dir, 'mounted') })
  expect(asked[1]?.token).toBe('Bearer from-a-file')
})

test('an audit that finds something prints it, names the place, and fails', async () => {
  const report = {
    streams: 2,
    events: 5,
    divergences: 1,
    ledger_balanced: true,
    first: { stream: 'order-1', revision: 3, what: 'the state hash differs' },
  }
  answer.body = report
  const { code, out, err } = await penstock(['audit', 'verify', '--json'])
  expect(JSON.parse(out)).toEqual(report)
  expect({ code, err }).toEqual({ code: 1, err: 'order-1 diverges at revision 3: the state hash differs\n' })
  answer.body = { ...report, divergences: 0, first: null, ledger_balanced: false }
  expect(await penstock(['audit', 'verify'])).toMatchObject({ code: 1, err: 'The ledger does not balance.\n' })
})

test('an order can be read by people', async () => {
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
      { at: '2026-01-01T00:00:00.000Z', stream: 'order', fact: 'OutpointNamed', data: { attempt: 1, outpoint: `${hash}:0` } },
    ],
  }
  const { out } = await penstock(['order', 'show', 'the-id'])
  expect(out).toMatch(/^Order the-id\nVALID_CHANNEL_OPENING\n/)
  expect(out).toMatch(/size +5,000,000 sat\n/)
  expect(out).toMatch(/ {2}STATUS +AT +LASTED\n {2}WAITING_FOR_SELLER_APPROVAL .* 1 min 5 s\n/)
  expect(out).toMatch(/Attempts\n {2}SELLER PUBKEY +STATUS\n {2}02abababab…ababab +opened\n/)
  expect(out).toMatch(/cancelled at +-\n/)
  expect(out).toMatch(/received +2,500,000 msat\n +payable +-2,500,000 msat\n/)
  expect(out).toMatch(/Incidents\n {2}none\n/)
  expect(out).toMatch(/order +OutpointNamed +attempt 1, outpoint cdcdcdcdcd…cdcdcd:0\n/)
})

test('open payouts can be read by people', async () => {
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
  const { out } = await penstock(['payout', 'list'])
  expect(out).toMatch(/^ORDER +AMOUNT +CREDITOR +STATE +SINCE +WITHHELD +REASON\n/)
  expect(out).toMatch(/\nthe-id +2,500,000 msat +seller +withheld +- +reorg until 905, terms until 1010 +It waits\.\n1 of 3\n$/)
  answer.body = { total: 0, payouts: [] }
  expect((await penstock(['payout', 'list'])).out).toBe('No payout is open.\n')
})

test('tables are aligned, and what is empty says so', async () => {
  answer.body = [
    { alias: 'buyer', role: 'buyer', pubkey: key, uri: `${key}@buyer.sim:9735`, balance_sat: '1000' },
    { alias: 'seller-ada', role: 'seller', pubkey: key, uri: `${key}@a:1`, balance_sat: '123456789' },
  ]
  const { out } = await penstock(['sim', 'nodes'])
  const [heading, first, second] = out.split('\n')
  expect(heading).toMatch(/^ALIAS +ROLE +URI +BALANCE$/)
  expect(first?.length).toBe(second?.length)
  answer.body = []
  expect((await penstock(['park', 'list'])).out).toBe('Nothing is parked.\n')
})

test('a reader that goes away early is no fault', async () => {
  answer.body = Array.from({ length: 5000 }, () => ({
    alias: 'buyer',
    role: 'buyer',
    uri: `${key}@buyer.sim:9735`,
    balance_sat: '1',
  }))
  const child = spawn(join(import.meta.dirname, 'main.ts'), ['sim', 'nodes'], {
    env: { ...process.env, PENSTOCK_URL: url, PENSTOCK_DATA_DIR: dir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (part: Buffer) => (complaint += part.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  expect({ code, complaint }).toEqual({ code: 0, complaint: '' })
})

test('it is a program of its own', () => {
  const run = () =>
    spawnSync(join(import.meta.dirname, 'main.ts'), ['sim', 'mine', 'x'], {
      encoding: 'utf8',
      env: { ...process.env, PENSTOCK_URL: url },
    })
  expect(run()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/whole number/) as string })
})

test('what goes wrong after the service began to answer is a failure too', async () => {
  answer = { status: 200, body: { error: 'the audit could not be made: the store is gone' } }
  const { code, out, err } = await penstock(['audit', 'verify'])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain('the store is gone')
})
