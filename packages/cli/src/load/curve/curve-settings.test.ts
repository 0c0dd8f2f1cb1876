import { expect, test } from 'vitest'
import { atRate, toCurveSettings } from './curve-settings.ts'
import { curveSettings } from './curve-load.fixture.ts'

const convert = (given: readonly string[]) => toCurveSettings(curveSettings, (option) => given.includes(option))

test('a curve buys for 30 seconds at each rate, unless the command line says otherwise', () => {
  expect(convert([])).toMatchObject({ mix: [{ word: 'buy', percent: 100 }], durationMs: 30_000 })
  expect(convert(['duration'])).toMatchObject({ durationMs: curveSettings.durationMs })
  expect(atRate(convert([]), 2.25)).toMatchObject({ ratePerSecond: 2.25, orders: 68 })
})

test.each([
  ['orders', /--rate and --duration give the number/],
  ['maxInFlight', /wait for earlier orders/],
  ['sellers', /not lost by a slow market/],
  ['to', /nobody pays/],
  ['private', /proofs of private channels/],
  ['mix', /needs a share of buy/],
])('a curve refuses %s with the reason', (option, reason) => {
  expect(() => convert([option])).toThrow(reason)
})
