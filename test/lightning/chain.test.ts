import { rpcChain } from '@penstock/adapters/bitcoind/chain.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { chainContract, type ChainFixture } from '@penstock/ports/chain.contract.ts'
import { ANYONE_CAN_SPEND } from '@penstock/servers/lightning-btcd.ts'
import { type Coin, findFreeCoin, buildAnyoneSpend } from '@penstock/servers/lightning-channels.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { describe } from 'vitest'
import { connectToNode, useLightningServers, isLightningMissing, createChainRpc } from './servers.ts'

const SENT_SAT = 1_000_000
const FEE_SAT = 1000

describe.skipIf(isLightningMissing)('chain sources', () => {
  const features = { reorgs: true, replacements: true }
  const servers = useLightningServers({ nodes: ['market'] })
  chainContract('lnd', async () => createFixture(servers(), lndChain(connectToNode(servers(), 'market'))), features)
  for (const by of ['https', 'wss'] as const) {
    const rpc = () => rpcChain(createChainRpc(servers(), by), systemClock, { pollMs: 100 })
    chainContract(`btcd by ${by}`, async () => createFixture(servers(), rpc()), features)
  }
})

/** A fixture without a wallet: it sends and spends outputs that anyone may spend. */
function createFixture(servers: LightningServers, chain: Chain): ChainFixture {
  const coins = new Map<string, Coin>()
  const submit = (raw: string): Promise<string> => servers.chain.rpc('sendrawtransaction', raw)
  return {
    chain,
    mine: (count) => servers.mine(count),
    reorganise: (depth) => servers.reorganise(depth),
    // The network ends after all tests of the file.
    teardown: () => Promise.resolve(),
    async send() {
      const coin = await findFreeCoin(servers.chain)
      const changeSat = coin.sat - SENT_SAT - FEE_SAT
      const txid = await submit(
        buildAnyoneSpend(coin, [
          { script: ANYONE_CAN_SPEND.script, sat: SENT_SAT },
          { script: ANYONE_CAN_SPEND.script, sat: changeSat },
        ]),
      )
      coins.set(txid, coin)
      return `${txid}:0`
    },
    spend: (outpoint) => {
      const [txid = '', vout] = outpoint.split(':')
      return submit(
        buildAnyoneSpend({ txid, vout: Number(vout), sat: SENT_SAT }, [
          { script: ANYONE_CAN_SPEND.script, sat: SENT_SAT - FEE_SAT },
        ]),
      )
    },
    async replace(txid) {
      const coin = coins.get(txid)
      if (!coin) throw new Error(`${txid} was not sent here`)
      await submit(buildAnyoneSpend(coin, [{ script: ANYONE_CAN_SPEND.script, sat: coin.sat - 20 * FEE_SAT }]))
    },
  }
}
