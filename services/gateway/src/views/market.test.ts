import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type Stage, stage } from '../stage.contract.ts'

let market: Stage
beforeEach(async () => {
  market = await stage()
})
afterEach(() => market.close())

const NOON = Date.parse('2027-01-31T12:00:00Z')
const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'
type Price = { readonly market: { readonly liquidity: { readonly liquidity_per_usd: { readonly sats: string } } } }

const told = (day: string, satsPerUsd: string, at: number) =>
  market.happens(
    'price',
    day,
    [
      {
        type: 'PriceSet',
        data: {
          satsPerUsd,
          usdPerUsd: '1.00',
          rate: { centsPerBtc: '10000000', at, samples: [] },
          validUntil: Date.now() + 3_600_000,
        },
      },
    ],
    undefined,
    at,
  )

async function shown(): Promise<string> {
  const { data } = await market.gql(PRICE)
  return (data as Price).market.liquidity.liquidity_per_usd.sats // as it was asked for
}

test('of two prices of a day the later one counts, whatever the clock of the process that decided it', async () => {
  await told('2027-01-31', '1000', NOON)
  await told('2027-01-31', '2000', NOON - 5000)
  assert.equal(await shown(), '2000')
})

test('a day that is read late takes nothing from the next one', async () => {
  await told('2027-02-01', '3000', NOON + 86_400_000)
  await told('2027-01-31', '1000', NOON)
  assert.equal(await shown(), '3000')
})
