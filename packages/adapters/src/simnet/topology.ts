import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { walletScript } from '@penstock/bitcoin/script.ts'
import type { TransactionOutput } from '@penstock/bitcoin/transaction.ts'
import { addBlock, readHeight } from './chain.ts'
import { ANNOUNCED_AT_DEPTH } from './channels/channels.ts'
import { prepareFunding, publishFunding } from './channels/funding.ts'
import { deriveKey, requireNode, rememberPeers, type SimNodeRole, secretKeyOf } from './nodes.ts'
import type { SimnetStore } from './store.ts'

export type NodeSpec = { readonly alias: string; readonly role: SimNodeRole; readonly walletSat: bigint }
/** An initial channel, with its whole capacity on the side of `from`. */
export type ChannelSpec = {
  readonly from: string
  readonly to: string
  readonly capacitySat: bigint
  readonly isPrivate?: boolean
}

const BTC = 100_000_000n
const P2P_PORT = 9735

/** A market, buyers, sellers with coins for many channels, and a spare node. */
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

/** Channels by which buyers can pay the market, and the market can pay and probe through every seller. */
export function buildDefaultTopology(nodes: readonly NodeSpec[]): ChannelSpec[] {
  const market = nodes.find(({ role }) => role === 'market')?.alias
  if (market === undefined) return []
  return nodes.flatMap(({ alias, role }): ChannelSpec[] => {
    switch (role) {
      case 'market':
        return []
      // Several channels, because each carries only a limited number of payments at a time.
      case 'buyer':
        return Array.from({ length: 4 }, () => ({ from: alias, to: market, capacitySat: 2n * BTC }))
      case 'seller':
      case 'spare':
        return [{ from: market, to: alias, capacitySat: 2n * BTC }]
    }
  })
}

/** Amount that the coin of an initial channel has in addition to the capacity, for the opening fee. */
const OPENING_FEE_SAT = 1000n
/** Size of the coins of a wallet. Each opening in progress needs a confirmed coin of its own. */
const COIN_SAT = 20_000_000n

/** Creates the nodes and their channels once; an existing network stays as it is. */
export function createTopology(store: SimnetStore, nodes: readonly NodeSpec[], topology: readonly ChannelSpec[]): void {
  store.write(() => {
    if (store.get("SELECT 1 FROM meta WHERE key = 'seed'")) return
    store.run("INSERT INTO meta VALUES ('seed', ?)", store.random(32))
    for (const { alias, role } of nodes) {
      const script = walletScript(derivePubkey(deriveKey(store, `wallet/${alias}`)))
      store.run(
        'INSERT INTO nodes (alias, role, pubkey, script, socket) VALUES (?, ?, ?, ?, ?)',
        alias,
        role,
        derivePubkey(secretKeyOf(store, alias)),
        script,
        `${alias}.sim:${P2P_PORT}`,
      )
    }
    addBlock(store, 'none', {
      inputs: [{ txid: '00'.repeat(32), vout: 0xffff_ffff, script: '0101' }],
      outputs: buildInitialOutputs(store, nodes, topology),
    })
    for (const channel of topology) openInitialChannel(store, channel)
    for (let block = 0; block < ANNOUNCED_AT_DEPTH; block++) addBlock(store)
    store.run("INSERT INTO meta VALUES ('first_height', ?)", `${readHeight(store)}`)
  })
}

function buildInitialOutputs(
  store: SimnetStore,
  nodes: readonly NodeSpec[],
  topology: readonly ChannelSpec[],
): TransactionOutput[] {
  const forChannels = topology.map(({ from, capacitySat }) => ({
    valueSat: capacitySat + OPENING_FEE_SAT,
    script: requireNode(store, from).script,
  }))
  const forWallets = nodes.flatMap(({ alias, walletSat }) => {
    const { script } = requireNode(store, alias)
    const whole = Array.from({ length: Number(walletSat / COIN_SAT) }, () => ({ valueSat: COIN_SAT, script }))
    const rest = walletSat % COIN_SAT
    return rest > 0n ? [...whole, { valueSat: rest, script }] : whole
  })
  return [...forChannels, ...forWallets]
}

function openInitialChannel(store: SimnetStore, { from, to, capacitySat, isPrivate = false }: ChannelSpec): void {
  const [node, peer] = [requireNode(store, from), requireNode(store, to).pubkey]
  rememberPeers(store, node.pubkey, peer)
  publishFunding(store, node, prepareFunding(store, node, { peer, capacitySat, isPrivate, feeRateSatPerVbyte: 1 }))
}
