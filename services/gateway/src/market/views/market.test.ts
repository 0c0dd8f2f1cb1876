import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
})
afterEach(() => market.close())

const NOON = Date.parse('2027-01-31T12:00:00Z')
const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'
type Price = { readonly market: { readonly liquidity: { readonly liquidity_per_usd: { readonly sats: string } } } }

const projectPrice = (day: string, satsPerUsd: string, at: number) =>
  market.projectFacts(
    'price',
    day,
    [
      {
        type: 'PriceSet',
        data: {
          satsPerUsd,
          usdPerUsd: '1.00',
          rate: { centsPerBtc: '10000000', at, samples: [] },
          validUntil: NOW + 3_600_000,
        },
      },
    ],
    undefined,
    at,
  )

async function readPrice(): Promise<string> {
  const { data } = await market.gql(PRICE)
  return (data as Price).market.liquidity.liquidity_per_usd.sats // the query requests this shape
}

test('the later of two prices of a day counts, even if its timestamp is earlier', async () => {
  await projectPrice('2027-01-31', '1000', NOON)
  await projectPrice('2027-01-31', '2000', NOON - 5000)
  assert.equal(await readPrice(), '2000')
})

test('a price of an earlier day that is read late does not replace the newer price', async () => {
  await projectPrice('2027-02-01', '3000', NOON + 86_400_000)
  await projectPrice('2027-01-31', '1000', NOON)
  assert.equal(await readPrice(), '3000')
})
