import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import type { WorldNode } from '@penstock/ports/lightning-world.contract.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { fund, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { closeChannel } from 'lightning'
import { describe } from 'vitest'
import { forgetIn } from './forget.ts'
import { openBy } from './hand-seller.ts'
import { keeper, refuser } from './keeper.ts'
import { miner } from './miner.ts'
import { sendPart } from './raw-payments.ts'
import { connected, network, noLightning, withoutNode } from './servers.ts'

const NODES = ['market', 'buyer', 'seller'] as const
const COIN_SAT = 50_000_000
const CHANNEL_SAT = 5_000_000

/** Also by a transaction that no block has yet. */
async function isSpent({ chain }: LightningServers, outpoint: string): Promise<boolean> {
  const [txid, vout] = outpoint.split(':')
  const asked = [{ txid, vout: Number(vout) }]
  const [spending] = await chain.rpc<{ spendingtxid?: string }[]>('gettxspendingprevout', asked)
  return spending?.spendingtxid !== undefined && spending.spendingtxid !== ''
}

async function reorganise(servers: LightningServers, depth: number, isRemined: boolean): Promise<void> {
  const blocks = miner(servers)
  const height = await servers.chain.rpc<number>('getblockcount')
  const again: string[] = []
  for (let at = height - depth + 1; isRemined && at <= height; at++) {
    const block = await servers.chain.rpc<{ tx: string[] }>('getblock', await servers.chain.rpc('getblockhash', at), 1)
    for (const txid of block.tx.slice(1)) again.push(await blocks.raw(txid))
  }
  await blocks.replace(depth, again)
}

describe.skipIf(noLightning)('lnd on a chain of btcd', () => {
  const started = network({ nodes: NODES })
  lightningContract('lnd', async () => {
    const servers = started()
    for (const alias of NODES) for (let coin = 0; coin < 3; coin++) await fund(servers, servers.node(alias), COIN_SAT)
    const open = (from: string, to: string) => openAnnounced(servers, servers.node(from), servers.node(to), CHANNEL_SAT)
    const channels = [await open('buyer', 'market'), await open('market', 'seller')]
    await Promise.all(channels.flatMap((channel) => servers.nodes.map((node) => knowsChannel(node, channel))))
    const node = (alias: string): WorldNode => ({
      lightning: lndLightning(connected(servers, alias)),
      socket: servers.node(alias).socket,
    })
    return {
      market: node('market'),
      buyer: node('buyer'),
      seller: node('seller'),
      chain: lndChain(connected(servers, 'market')),
      mine: servers.mine,
      reorganise: (depth, isRemined) => reorganise(servers, depth, isRemined),
      away: (blocks) => withoutNode(servers, 'market', () => servers.mine(blocks)),
      send: (request, msat, totalMsat) => sendPart(servers.node('buyer'), request, { msat, totalMsat }),
      forget: (outpoint) => forgetIn(servers.node('seller'), outpoint),
      holdProbes: keeper(servers.node('seller')),
      openTaproot: (capacitySat, isPrivate) =>
        openBy(
          servers.node('seller'),
          { servers },
          { peer: servers.node('buyer'), sat: Number(capacitySat), isPrivate, isTaproot: true },
        ).catch((why: unknown) => {
          // The package throws lists.
          throw new Error(JSON.stringify(why), { cause: why })
        }),
      buyerRefuses: refuser(servers.node('buyer')),
      buyerAway: (meanwhile) => withoutNode(servers, 'buyer', meanwhile),
      sellerAway: (meanwhile) => withoutNode(servers, 'seller', meanwhile),
      async close(outpoint, by, how) {
        const [transaction_id = '', vout] = outpoint.split(':')
        const { lnd } = servers.node(by)
        const channel = { lnd, transaction_id, transaction_vout: Number(vout) }
        await closeChannel(how === 'force' ? { ...channel, is_force_close: true } : channel)
        await until('the closing transaction is handed out', () => isSpent(servers, outpoint))
      },
      pass: (ms) => systemClock.sleep(ms),
      // The network ends with the file.
      teardown: () => Promise.resolve(),
    }
  })
})
