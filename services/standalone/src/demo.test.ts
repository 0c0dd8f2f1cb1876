import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { demonstrate } from './demo.ts'

const bought = {
  account: { session_key: 'psk_x' },
  order: { transaction_id: 'an-order' },
  payment: { lightning_invoice: 'lnbcrt50u1x', redirect_url: 'http://a-page', amount: { sats: '5000' } },
}
const at = new Date(0).toISOString()
const timeline = [
  { at, status: 'WAITING_FOR_BUYER_PAYMENT' },
  { at, status: null },
  { at, status: 'VALID_CHANNEL_OPENING' },
]
const sold = { status: 'VALID_CHANNEL_OPENING', channel_id: '8x1x0', size: '1920001', source: { alias: 'seller-ada' }, timeline }

type Answer = (query: string) => object

/** Runs the demonstration against a market that answers by `answerTo`. @returns the paid invoices and the printed lines */
async function runDemonstration(answerTo: Answer) {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { query } = JSON.parse(Buffer.concat(parts).toString()) as { query: string } // the demonstration sends this
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answerTo(query)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on TCP
  const paid: string[] = []
  const control = {
    nodes: () => [{ role: 'buyer', alias: 'buyer', uri: '02ab@10.0.0.7:9735' }],
    pay: (_: string, invoice: string) => void paid.push(invoice),
  }
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
  const lines: string[] = []
  const say = (line: string) => void lines.push(line)
  try {
    await demonstrate(`http://127.0.0.1:${port}`, control, clock, say, new AbortController().signal)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { paid, lines }
}

const refused = (message: string): object => ({ errors: [{ message }] })
const isPrice = (query: string): boolean => query.includes('liquidity_per_usd')
const isBuy = (query: string): boolean => query.includes('buy(')
const buys = { data: { liquidity: { buy: bought } } }
const seen = { data: { user: { market: { orders: { get_order: sold } } } } }

test('the demonstration waits for the price, buys once, and prints the seller', async () => {
  const requests: string[] = []
  const { paid, lines } = await runDemonstration((query) => {
    if (isPrice(query)) {
      requests.push('price')
      return requests.length < 4 ? refused('There is no price yet.') : { data: {} }
    }
    if (!isBuy(query)) return seen
    requests.push('buy')
    return buys
  })
  expect(requests).toEqual(['price', 'price', 'price', 'price', 'buy'])
  expect(paid).toEqual(['lnbcrt50u1x'])
  expect(lines.filter((line) => / s {2}[A-Z]/.test(line)).map((line) => line.trim().split(/ +/)[2])).toEqual([
    'WAITING_FOR_BUYER_PAYMENT',
    'VALID_CHANNEL_OPENING',
  ])
  expect(lines.at(-1)).toBe('Sold: seller-ada opened a channel of 1920001 sat to buyer (8x1x0).')
})

test('the demonstration retries a purchase until sellers are available, and retries to read its order', async () => {
  let [refusals, faults] = [0, 0]
  const { paid, lines } = await runDemonstration((query) => {
    if (isPrice(query)) return { data: {} }
    if (isBuy(query)) return refusals++ < 3 ? refused('No seller sells now.') : buys
    return faults++ < 2 ? refused('The market cannot answer now.') : seen
  })
  expect([refusals, faults]).toEqual([4, 3])
  expect(paid).toEqual(['lnbcrt50u1x'])
  expect(lines.at(-1)).toMatch(/^Sold: seller-ada/)
})
