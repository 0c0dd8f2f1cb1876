import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import type { FixtureNode } from '@penstock/ports/lightning-nodes.fixture.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { closeChannel } from 'lightning'
import { describe } from 'vitest'
import { removeTransaction } from './remove-transaction.ts'
import { openChannelFrom } from './manual-seller.ts'
import { createHtlcInterceptor, createChannelRejecter } from './htlc-interceptor.ts'
import { createManualMiner } from './miner.ts'
import { sendPaymentPart } from './raw-payments.ts'
import { connectToNode, useLightningServers, isLightningMissing, runWithoutNode } from './servers.ts'

const NODES = ['market', 'buyer', 'seller'] as const
const COIN_SAT = 50_000_000
const CHANNEL_SAT = 5_000_000

/** Whether a transaction in a block or in the mempool spends the outpoint. */
async function isSpent({ chain }: LightningServers, outpoint: string): Promise<boolean> {
  const [txid, vout] = outpoint.split(':')
  const coins = [{ txid, vout: Number(vout) }]
  const [spending] = await chain.rpc<{ spendingtxid?: string }[]>('gettxspendingprevout', coins)
  return spending?.spendingtxid !== undefined && spending.spendingtxid !== ''
}

async function reorganise(servers: LightningServers, depth: number, isRemined: boolean): Promise<void> {
  const blocks = createManualMiner(servers)
  const height = await servers.chain.rpc<number>('getblockcount')
  const repeated: string[] = []
  for (let at = height - depth + 1; isRemined && at <= height; at++) {
    const block = await servers.chain.rpc<{ tx: string[] }>('getblock', await servers.chain.rpc('getblockhash', at), 1)
    for (const txid of block.tx.slice(1)) repeated.push(await blocks.raw(txid))
  }
  await blocks.replace(depth, repeated)
}

describe.skipIf(isLightningMissing)('lnd on a chain of btcd', () => {
  const getServers = useLightningServers({ nodes: NODES })
  lightningContract('lnd', async () => {
    const servers = getServers()
    for (const alias of NODES) for (let coin = 0; coin < 3; coin++) await fundNode(servers, servers.node(alias), COIN_SAT)
    const open = (from: string, to: string) => openAnnouncedChannel(servers, servers.node(from), servers.node(to), CHANNEL_SAT)
    const channels = [await open('buyer', 'market'), await open('market', 'seller')]
    await Promise.all(channels.flatMap((channel) => servers.nodes.map((node) => waitUntilInGraph(node, channel))))
    const node = (alias: string): FixtureNode => ({
      lightning: lndLightning(connectToNode(servers, alias)),
      socket: servers.node(alias).socket,
    })
    return {
      market: node('market'),
      buyer: node('buyer'),
      seller: node('seller'),
      chain: lndChain(connectToNode(servers, 'market')),
      mine: servers.mine,
      reorganise: (depth, isRemined) => reorganise(servers, depth, isRemined),
      away: (blocks) => runWithoutNode(servers, 'market', () => servers.mine(blocks)),
      send: (request, msat, totalMsat) => sendPaymentPart(servers.node('buyer'), request, { msat, totalMsat }),
      forget: (outpoint) => removeTransaction(servers.node('seller'), outpoint),
      holdProbes: createHtlcInterceptor(servers.node('seller')),
      openTaproot: (capacitySat, isPrivate) =>
        openChannelFrom(
          servers.node('seller'),
          { servers },
          { peer: servers.node('buyer'), sat: Number(capacitySat), isPrivate, isTaproot: true },
        ).catch((why: unknown) => {
          // The package `lightning` throws arrays instead of errors.
          throw new Error(JSON.stringify(why), { cause: why })
        }),
      buyerRefuses: createChannelRejecter(servers.node('buyer')),
      buyerAway: (meanwhile) => runWithoutNode(servers, 'buyer', meanwhile),
      sellerAway: (meanwhile) => runWithoutNode(servers, 'seller', meanwhile),
      async close(outpoint, by, how) {
        const [transaction_id = '', vout] = outpoint.split(':')
        const { lnd } = servers.node(by)
        const channel = { lnd, transaction_id, transaction_vout: Number(vout) }
        await closeChannel(how === 'force' ? { ...channel, is_force_close: true } : channel)
        await waitForResult('the closing transaction is published', () => isSpent(servers, outpoint))
      },
      pass: (ms) => systemClock.sleep(ms),
      // The network ends after all tests of the file.
      teardown: () => Promise.resolve(),
    }
  })
})
