import { rpcChain } from '@penstock/adapters/bitcoind/chain.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { chainContract, type ChainWorld } from '@penstock/ports/chain.contract.ts'
import { ANYONE } from '@penstock/servers/lightning-btcd.ts'
import { type Coin, freeCoin, spendAnyone } from '@penstock/servers/lightning-channels.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { describe } from 'vitest'
import { connected, network, noLightning, rpcOfChain } from './servers.ts'

const SENT_SAT = 1_000_000
const FEE_SAT = 1000

describe.skipIf(noLightning)('sources of blocks', () => {
  const features = { reorgs: true, replacements: true }
  const servers = network({ nodes: ['market'] })
  chainContract('lnd', async () => world(servers(), lndChain(connected(servers(), 'market'))), features)
  for (const by of ['https', 'wss'] as const) {
    const rpc = () => rpcChain(rpcOfChain(servers(), by), systemClock, { pollMs: 100 })
    chainContract(`btcd by ${by}`, async () => world(servers(), rpc()), features)
  }
})

/** Coins that anyone may spend are sent about: no wallet has a hand in it. */
function world(servers: LightningServers, chain: Chain): ChainWorld {
  const coins = new Map<string, Coin>()
  const submit = (raw: string): Promise<string> => servers.chain.rpc('sendrawtransaction', raw)
  return {
    chain,
    mine: (count) => servers.mine(count),
    reorganise: (depth) => servers.reorganise(depth),
    // The network ends with the file.
    teardown: () => Promise.resolve(),
    async send() {
      const coin = await freeCoin(servers.chain)
      const rest = coin.sat - SENT_SAT - FEE_SAT
      const txid = await submit(
        spendAnyone(coin, [
          { script: ANYONE.script, sat: SENT_SAT },
          { script: ANYONE.script, sat: rest },
        ]),
      )
      coins.set(txid, coin)
      return `${txid}:0`
    },
    spend: (outpoint) => {
      const [txid = '', vout] = outpoint.split(':')
      return submit(
        spendAnyone({ txid, vout: Number(vout), sat: SENT_SAT }, [{ script: ANYONE.script, sat: SENT_SAT - FEE_SAT }]),
      )
    },
    async replace(txid) {
      const coin = coins.get(txid)
      if (!coin) throw new Error(`${txid} was not sent here`)
      await submit(spendAnyone(coin, [{ script: ANYONE.script, sat: coin.sat - 20 * FEE_SAT }]))
    },
  }
}
