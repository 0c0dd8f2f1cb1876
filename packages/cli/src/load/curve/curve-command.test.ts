import { expect, test } from 'vitest'
import { runCli } from '../../run-cli.ts'

async function runPenstock(args: readonly string[]) {
  const printed = { out: '', err: '' }
  const code = await runCli(args, {
    // The address is refused after the options, so that no test reaches a market.
    env: { PENSTOCK_URL: 'ftp://market', PENSTOCK_OPERATOR_TOKEN: 'token' },
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { code, ...printed }
}

test('the options that do not go with a curve are refused before any request, one sentence each', async () => {
  const { code, err } = await runPenstock(['load', '--curve', '--sellers', 'slow:100', '--max-in-flight', '9', '--orders', '5'])
  expect(code).toBe(1)
  expect(err.split('\n').map((line) => line.split(' ')[0])).toEqual(['--orders', '--max-in-flight', '--sellers', ''])
})

test('the defaults of these options are no refusal', async () => {
  const { code, err } = await runPenstock(['load', '--curve', '--rate', '1', '--duration', '1s', '--drain', '1s'])
  expect({ code, isRefused: err.includes('--curve') }).toEqual({ code: 1, isRefused: false })
  expect(err).toContain('ftp://market')
})

test('the help names the curve', async () => {
  expect((await runPenstock(['load', '--help'])).out).toMatch(/--curve +find the capacity/)
})
