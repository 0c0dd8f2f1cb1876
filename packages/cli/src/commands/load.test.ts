import { expect, test } from 'vitest'
import { runCli } from '../run-cli.ts'

async function runPenstockLoad(...args: readonly string[]) {
  const printed = { out: '', err: '' }
  const code = await runCli(['load', ...args], {
    env: { PENSTOCK_URL: 'http://127.0.0.1:1', PENSTOCK_DATA_DIR: '/nowhere' },
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { code, ...printed }
}

test.each([
  [['--rate', '0'], /--rate.*number of orders per second, from 0\.001 to 1000/],
  [['--rate', '-1'], /number of orders per second/],
  [['--rate', 'NaN'], /number of orders per second/],
  [['--rate', '1e3'], /number of orders per second/],
  [['--orders', '0'], /--orders.*whole number of orders, from 1/],
  [['--orders', '2.5'], /whole number of orders/],
  [['--mix', 'buy:50,sell:50'], /--mix.*"sell" is not one of buy, lsps1, manual, abandon, cancel/],
  [['--mix', 'buy:60'], /add up to 60 instead of 100/],
  [['--sellers', 'good:100,rude:0'], /--sellers.*"rude" is not one of good, slow, fails/],
  [['--sellers', 'good:110,slow:-10'], /share of slow is -10/],
  [['--arrivals', 'bursts'], /Allowed choices are constant, poisson/],
  [['--duration', '90'], /a time with its unit/],
  [['--timeout', '0s'], /a time with its unit/],
  [['--drain', '2d'], /a time with its unit/],
  [['--max-in-flight', '0'], /from 1 to 100000/],
  [['--private', '101'], /percent, from 0 to 100/],
  [['--seed', '-3'], /whole number/],
  [['--to', 'nobody'], /a node, as <pubkey>@<host>:<port>/],
  [['--url', 'http://10.1.2.3'], /10\.1\.2\.3 is not this machine's loopback: say --i-own-this/],
  [['--out', '/dev/null/report.html'], /\/dev\/null\/report\.html cannot be written/],
  [[], /The market sells nothing now: connect ECONNREFUSED/],
])('%j is refused with an explanation', async (args, sentence) => {
  const { code, out, err } = await runPenstockLoad(...args)
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(sentence)
  expect(err).not.toMatch(/ at .*:\d+:\d+/)
})

test('the help shows the defaults and an example', async () => {
  const { code, out } = await runPenstockLoad('--help')
  expect(code).toBe(0)
  expect(out).toMatch(/default:\s+buy:70,lsps1:20,manual:5,abandon:5/)
  expect(out).toContain('Example:\n  $ penstock load --orders 300')
})
