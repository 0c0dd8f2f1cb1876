import { afterAll, beforeAll, describe, it } from 'vitest'
import { LND_MARKET_NODES, type LndMarket, sellChannel, startLndMarket } from '../lightning/lnd-market.ts'
import { isLightningMissing, useLightningServers } from '../lightning/servers.ts'

describe.skipIf(isLightningMissing)('a market on lnd and btcd', () => {
  const servers = useLightningServers({ nodes: LND_MARKET_NODES })
  let market: LndMarket
  beforeAll(async () => {
    market = await startLndMarket(servers())
  })
  afterAll(() => market.stop())

  it('sells a channel, from the held payment to the payout', async () => {
    await sellChannel(servers(), market)
  })
})
