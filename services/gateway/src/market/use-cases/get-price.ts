import { anyone } from '../../access.ts'
import { invalidInput } from '../../errors.ts'
import { readCurrentPrice } from '../read/offers.ts'
import { noInput, query } from '../../use-case.ts'

export const getPrice = query({
  path: 'market.liquidity.liquidity_per_usd',
  access: anyone,
  input: noInput,
  run: async (_, { gateway }) => {
    const price = await readCurrentPrice(gateway.views, gateway.clock.now())
    if ('withdrawn' in price) throw invalidInput(price.withdrawn)
    return { id: 'market.liquidity.liquidity_per_usd', sats: price.satsPerUsd, usd: price.usdPerUsd }
  },
})
