import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { walletScript } from '@penstock/bitcoin/script.ts'
import type { TransactionOutput } from '@penstock/bitcoin/transaction.ts'
import { addBlock, heightOf } from './chain.ts'
import { DEPTH_ANNOUNCED } from './channels.ts'
import { prepareFunding, publishFunding } from './funding.ts'
import { deriveKey, nodeCalled, rememberPeers, type Role, secretKeyOf } from './nodes.ts'
import type { Net } from './store.ts'

export type NodeSpec = { readonly alias: string; readonly role: Role; readonly walletSat: bigint }
/** A channel that is there from the beginning, all of it on `from`'s side. */
export type ChannelSpec = {
  readonly from: string
  readonly to: string
  readonly capacitySat: bigint
  readonly isPrivate?: boolean
}

const BTC = 100_000_000n
const P2P_PORT = 9735

/** A market, buyers, sellers with coins for many channels, and a node that belongs to nobody yet. */
export const DEFAULT_NODES: readonly NodeSpec[] = [
  { alias: 'market', role: 'market', walletSat: 1n * BTC },
  { alias: 'buyer', role: 'buyer', walletSat: 1n * BTC },
  { alias: 'buyer-2', role: 'buyer', walletSat: 1n * BTC },
  { alias: 'seller-ada', role: 'seller', walletSat: 20n * BTC },
  { alias: 'seller-bob', role: 'seller', walletSat: 20n * BTC },
  { alias: 'seller-cleo', role: 'seller', walletSat: 20n * BTC },
  { alias: 'seller-dan', role: 'seller', walletSat: 20n * BTC },
  { alias: 'spare', role: 'spare', walletSat: 5n * BTC },
]

/** Buyers can pay the market, and the market can pay and probe through everybody who sells. */
export function defaultTopology(nodes: readonly NodeSpec[]): ChannelSpec[] {
  const market = nodes.find(({ role }) => role === 'market')?.alias
  if (market === undefined) return []
  return nodes.flatMap(({ alias, role }): ChannelSpec[] => {
    switch (role) {
      case 'market':
        return []
      // Several, since one carries only so many payments at a time.
      case 'buyer':
        return Array.from({ length: 4 }, () => ({ from: alias, to: market, capacitySat: 2n * BTC }))
      case 'seller':
      case 'spare':
        return [{ from: market, to: alias, capacitySat: 2n * BTC }]
    }
  })
}

/** Opening fees of the first channels are paid from what each channel's coin has beside its capacity. */
const SPARE_SAT = 1000n
/** Coins are of this size: one confirmed coin is needed for each opening under way. */
const COIN_SAT = 20_000_000n

/** Makes the world once; whatever is there already stays. */
export function createWorld(net: Net, nodes: readonly NodeSpec[], topology: readonly ChannelSpec[]): void {
  net.write(() => {
    if (net.get("SELECT 1 FROM meta WHERE key = 'seed'")) return
    net.run("INSERT INTO meta VALUES ('seed', ?)", net.random(32))
    for (const { alias, role } of nodes) {
      const script = walletScript(pubkeyOf(deriveKey(net, `wallet/${alias}`)))
      net.run(
        'INSERT INTO nodes (alias, role, pubkey, script, socket) VALUES (?, ?, ?, ?, ?)',
        alias,
        role,
        pubkeyOf(secretKeyOf(net, alias)),
        script,
        `${alias}.sim:${P2P_PORT}`,
      )
    }
    addBlock(net, 'none', {
      inputs: [{ txid: '00'.repeat(32), vout: 0xffff_ffff, script: '0101' }],
      outputs: firstCoins(net, nodes, topology),
    })
    for (const channel of topology) openAtOnce(net, channel)
    for (let block = 0; block < DEPTH_ANNOUNCED; block++) addBlock(net)
    net.run("INSERT INTO meta VALUES ('first_height', ?)", `${heightOf(net)}`)
  })
}

function firstCoins(net: Net, nodes: readonly NodeSpec[], topology: readonly ChannelSpec[]): TransactionOutput[] {
  const forChannels = topology.map(({ from, capacitySat }) => ({
    valueSat: capacitySat + SPARE_SAT,
    script: nodeCalled(net, from).script,
  }))
  const forWallets = nodes.flatMap(({ alias, walletSat }) => {
    const { script } = nodeCalled(net, alias)
    const whole = Array.from({ length: Number(walletSat / COIN_SAT) }, () => ({ valueSat: COIN_SAT, script }))
    const rest = walletSat % COIN_SAT
    return rest > 0n ? [...whole, { valueSat: rest, script }] : whole
  })
  return [...forChannels, ...forWallets]
}

function openAtOnce(net: Net, { from, to, capacitySat, isPrivate = false }: ChannelSpec): void {
  const [node, peer] = [nodeCalled(net, from), nodeCalled(net, to).pubkey]
  rememberPeers(net, node.pubkey, peer)
  publishFunding(net, node, prepareFunding(net, node, { peer, capacitySat, isPrivate, feeRateSatPerVbyte: 1 }))
}
