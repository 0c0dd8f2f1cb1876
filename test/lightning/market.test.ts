import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { fundingOf } from '@penstock/seller-agent/sale.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { closeChannel } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTempFolder, spawnProduct, startProduct } from '../support/product.ts'
import { LND_MARKET_NODES, type LndMarket, sellChannel, startLndMarket } from './lnd-market.ts'
import { useLightningServers, isLightningMissing } from './servers.ts'

describe.skipIf(isLightningMissing)('the market on lnd', () => {
  const servers = useLightningServers({ nodes: LND_MARKET_NODES })
  const node = (alias: string) => servers().node(alias)
  let market: LndMarket
  const warnings: { readonly text: string; readonly fields: object }[] = []
  const log: Logger = { ...openLogger('silent'), warn: (fields, text) => void warnings.push({ text, fields }) }
  beforeAll(async () => {
    market = await startLndMarket(servers(), log)
  })
  afterAll(() => market.stop())

  it('sells a channel, from the held payment to the payout', async () => void (await sellChannel(servers(), market)))

  it('continues with blocks from btcd after a restart', async () => {
    const { product, env } = market
    await product.stop()
    const { user, password, port, certFile } = servers().chain
    const btcd = {
      PENSTOCK_BITCOIND_URL: `wss://${user}:${password}@localhost:${port}/ws`,
      PENSTOCK_BITCOIND_CERT_FILE: certFile,
    }
    market.product = await startProduct(product.dataDir, { ...env, ...btcd, PORT: new URL(product.url).port })
    await sellChannel(servers(), market)
  })

  it('records the end of the lease if the seller closes the channel early, and the agent logs a warning', async () => {
    const { id, status } = await sellChannel(servers(), market)
    const sale = await waitForResult('the sale has ended', async () => {
      const now = market.journal.findSale(id)
      return now?.hasEnded && now
    })
    const { outpoint } = fundingOf(sale)
    const [transaction_id = '', vout] = outpoint.split(':')
    await closeChannel({ lnd: node('seller').lnd, transaction_id, transaction_vout: Number(vout), is_force_close: true })
    const closed = await waitForResult('the journal contains the close', async () => {
      await servers().mine()
      return market.journal.findSale(id)?.channelEnd ?? undefined
    })
    expect(closed).toMatchObject({ how: 'force', by: 'us', early: true })
    expect(warnings.filter(({ text }) => /this node closed a channel that it sold before its lease ended/.test(text))).toEqual([
      expect.objectContaining({
        fields: expect.objectContaining({ order: id, outpoint, closingTxid: closed.closingTxid }) as unknown,
      }),
    ])
    await waitForResult('the market records the close', async () => (await status()).status === 'CHANNEL_MONITORING_FINISHED')
  })

  it('does not start with a node of another network, or with a macaroon that allows too much', async () => {
    const startWith = async (change: Record<string, string>): Promise<string> => {
      const starting = spawnProduct(makeTempFolder(), { ...market.env, ...change })
      const startOutput = await starting.ready.then(
        () => 'it started',
        (error: unknown) => String(error),
      )
      await starting.kill()
      return startOutput
    }
    expect(await startWith({ PENSTOCK_NETWORK: 'signet' })).toMatch(/lnd market is on regtest, and PENSTOCK_NETWORK is signet/)
    expect(await startWith({ PENSTOCK_NETWORK: 'signet', PENSTOCK_LND_MACAROON_FILE: node('market').adminMacaroonFile })).toMatch(
      /has permissions that settlement does not need/,
    )
    expect(await startWith({ PENSTOCK_LND_CERT_FILE: '' })).toMatch(/PENSTOCK_LND_CERT_FILE is not set/)
  })
})
