import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
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

test('the demonstration waits for the price, buys once, and names the seller', async () => {
  const asked: string[] = []
  const answerTo = (query: string): object => {
    if (query.includes('liquidity_per_usd')) {
      asked.push('price')
      return asked.length < 4 ? { errors: [{ message: 'There is no price yet.' }] } : { data: {} }
    }
    if (query.includes('buy(')) {
      asked.push('buy')
      return { data: { liquidity: { buy: bought } } }
    }
    return { data: { user: { market: { orders: { get_order: sold } } } } }
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { query } = JSON.parse(Buffer.concat(parts).toString()) as { query: string } // what the demonstration sends
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
  const clock = { now: Date.now, monotonicMs: () => Math.floor(performance.now()), sleep: () => pause(1) }
  const lines: string[] = []
  await demonstrate(`http://127.0.0.1:${port}`, control, clock, (line) => lines.push(line), new AbortController().signal)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(asked).toEqual(['price', 'price', 'price', 'price', 'buy'])
  expect(paid).toEqual(['lnbcrt50u1x'])
  expect(lines.filter((line) => / s {2}[A-Z]/.test(line)).map((line) => line.trim().split(/ +/)[2])).toEqual([
    'WAITING_FOR_BUYER_PAYMENT',
    'VALID_CHANNEL_OPENING',
  ])
  expect(lines.at(-1)).toBe('Sold: seller-ada opened a channel of 1920001 sat to buyer (8x1x0).')
})
