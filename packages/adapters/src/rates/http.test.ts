import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Fault } from '@penstock/kernel/result.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { httpRateSource } from './http.ts'
import { publicRateSources } from './public-rate-sources.ts'

const NOW = 1_800_000_000_000
const clock = { ...stillClock, now: () => NOW }

/** The answer of a fake server that serves as every source. Each test sets the answer. */
let answer: { status?: number; body: string; location?: string }
let server: Server
let url: string
beforeAll(async () => {
  server = createServer((_, response) => {
    const { status = 200, body, location } = answer
    response.writeHead(status, { 'content-type': 'application/json', ...(location !== undefined && { location }) }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/` // it listens on TCP
})
afterAll(() => void server.close())

const reading = (name: keyof typeof publicRateSources, body: unknown) => {
  answer = { body: JSON.stringify(body) }
  return httpRateSource(name, clock, url).read()
}

test('the price of each source is read to the cent, with the timestamp of the source or the current time', async () => {
  const kraken = { error: [], result: { XXBTZUSD: { a: ['1', '2', '3'], c: ['97123.45600', '0.01'] } } }
  expect(await reading('kraken', kraken)).toEqual({ source: 'kraken', centsPerBtc: 9_712_345n, at: NOW })
  const coinbase = { data: { amount: '97123.4', base: 'BTC', currency: 'USD' } }
  expect(await reading('coinbase', coinbase)).toEqual({ source: 'coinbase', centsPerBtc: 9_712_340n, at: NOW })
  const old = NOW - 60_000
  const bitstamp = { last: '97123', timestamp: `${old / 1000}` }
  expect(await reading('bitstamp', bitstamp)).toEqual({ source: 'bitstamp', centsPerBtc: 9_712_300n, at: old })
  const mempool = { time: old / 1000, USD: 97_123, EUR: 1 }
  expect(await reading('mempool', mempool)).toEqual({ source: 'mempool', centsPerBtc: 9_712_300n, at: old })
})

test('a timestamp in the future counts as now', async () => {
  expect((await reading('bitstamp', { last: '1', timestamp: `${NOW / 1000 + 3600}` })).at).toBe(NOW)
})

test('an answer without a valid price throws a Fault', async () => {
  await expect(reading('kraken', { error: ['EService:Unavailable'] })).rejects.toThrow(Fault)
  await expect(reading('kraken', { result: {} })).rejects.toThrow(Fault)
  await expect(reading('coinbase', { data: { amount: '97123', currency: 'EUR' } })).rejects.toThrow(Fault)
  for (const last of ['0', '-1', '1e9', 'NaN', '', '97,123'])
    await expect(reading('bitstamp', { last, timestamp: '1' })).rejects.toThrow(Fault)
  const source = httpRateSource('kraken', clock, url)
  for (const invalid of [
    { status: 503, body: '' },
    { body: '<html>' },
    { body: JSON.stringify({ result: 'x'.repeat(100_000) }) },
    { status: 302, body: '', location: 'http://127.0.0.1:1/' },
  ]) {
    answer = invalid
    await expect(source.read()).rejects.toThrow(Fault)
  }
})

test('an unreachable source throws a Fault', async () => {
  await expect(httpRateSource('kraken', clock, 'http://127.0.0.1:1/').read()).rejects.toThrow(Fault)
})

test('every source has an https address', () => {
  for (const { url: address } of Object.values(publicRateSources)) expect(address).toMatch(/^https:/)
})
