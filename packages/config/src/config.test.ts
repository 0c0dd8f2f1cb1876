import assert from 'node:assert/strict'
import { test } from 'vitest'
import { readConfig, findUnknownSettings, variables } from './config.ts'
import { ConfigError } from './config-error.ts'

test('every setting has its default in an empty environment', () => {
  const config = readConfig({})
  assert.equal(config.port, 8080)
  assert.equal(config.platformFeeMinSat, 100n)
  assert.equal(config.simBlockSeconds, 5)
})

test('one error reports all invalid variables, each with its expected value', () => {
  const wrong = {
    PORT: '65536',
    PENSTOCK_LOG_LEVEL: 'loud',
    PENSTOCK_OPEN_WINDOW_SECONDS: '-1',
    PENSTOCK_PLATFORM_FEE_MIN_SAT: '1.5',
  }
  assert.throws(
    () => readConfig(wrong),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      for (const name of Object.keys(wrong)) assert.ok(error.message.includes(name), name)
      assert.ok(error.message.includes('PORT is "65536"; it must be a whole number from 0 to 65535.'))
      return true
    },
  )
})

test('a misspelt setting is reported as unknown', () => {
  assert.deepEqual(findUnknownSettings({ PENSTOCK_OPEN_WINDOW_SECOND: '5', PENSTOCK_OPEN_WINDOW_SECONDS: '5', PATH: '/' }), [
    'PENSTOCK_OPEN_WINDOW_SECOND',
  ])
})

test('a service ignores PENSTOCK_URL, the setting of the command line, without a warning', () => {
  assert.deepEqual(findUnknownSettings({ PENSTOCK_URL: 'http://127.0.0.1:8080' }), [])
  assert.deepEqual(readConfig({ PENSTOCK_URL: 'no address' }), readConfig({}))
})

test('every default value is valid, and every variable name is unique', () => {
  const all = Object.values(variables)
  for (const { name, schema, defaultValue } of all) assert.ok(schema.safeParse(defaultValue).success, name)
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
})

test('an error about an invalid url does not show its password', () => {
  assert.throws(
    () => readConfig({ PENSTOCK_POSTGRES_URL: 'mysql://penstock:hunter2@db/market' }),
    (error: unknown) =>
      error instanceof ConfigError && error.message.includes('mysql://…@db') && !error.message.includes('hunter2'),
  )
})

test('the url of a bitcoin node may be an HTTP or a WebSocket url', () => {
  for (const url of ['http://user@localhost:8332', 'https://user@host:8334', 'ws://user@host:8334/ws', 'wss://user@host:8334/ws'])
    assert.equal(readConfig({ PENSTOCK_BITCOIND_URL: url }).bitcoindUrl, url)
  assert.throws(() => readConfig({ PENSTOCK_BITCOIND_URL: 'tcp://host:8334' }), /or a ws:\/\/ or wss:\/\/ url of a btcd/)
})

test('the waits of webhooks are seven whole numbers', () => {
  const waits = (text: string) => readConfig({ PENSTOCK_WEBHOOK_WAITS_SECONDS: text }).webhookWaitsSeconds
  assert.deepEqual(readConfig({}).webhookWaitsSeconds, [10, 60, 600, 600, 600, 600, 600])
  assert.deepEqual(waits('0,1,1,2,2,2,86400'), [0, 1, 1, 2, 2, 2, 86_400])
  for (const text of [
    '',
    '1',
    '1,2,3,4,5,6',
    '1,2,3,4,5,6,7,8',
    '1,2,3,4,5,6,86401',
    '1,2,3,4,5,6,-7',
    '1, 2,3,4,5,6,7',
    '1,2,3,4,5,6,',
  ])
    assert.throws(() => waits(text), /it must be 7 whole numbers from 0 to 86400, separated by commas/)
})

test('a market without any platform fee is refused, because nothing would pay the routes of payouts', () => {
  const [ppm, least] = ['PENSTOCK_PLATFORM_FEE_PPM', 'PENSTOCK_PLATFORM_FEE_MIN_SAT']
  assert.throws(() => readConfig({ [ppm]: '0', [least]: '0' }), /PENSTOCK_PLATFORM_FEE_PPM and PENSTOCK_PLATFORM_FEE_MIN_SAT/)
  for (const env of [{ [ppm]: '0' }, { [least]: '0' }]) assert.ok(readConfig(env))
})
