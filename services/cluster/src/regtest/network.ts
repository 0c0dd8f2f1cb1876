import { setTimeout as sleep } from 'node:timers/promises'
import { connectLndNode } from '@penstock/platforms/connect-lnd-node.ts'
import { type LightningServers, startLightning } from '@penstock/servers/lightning.ts'
import type { PrintLine } from '../launcher/process-supervisor.ts'
import { superviseServer, type Startable } from '../launcher/server-supervisor.ts'
import { ensureChannels, ensureCoins } from './liquidity.ts'
import { MACHINE_CLOCK } from './clock.ts'
import { createMiningState, type MineBlocks, createMiner } from './mining.ts'
import type { RegtestNode, NodeRole } from './node-role.ts'

/** The nodes in the order of their ports. A new node has to come last, because existing folders depend on the order. */
const NODES: readonly { readonly alias: string; readonly role: NodeRole }[] = [
  { alias: 'market', role: 'market' },
  { alias: 'seller-ada', role: 'seller' },
  { alias: 'seller-bob', role: 'seller' },
  { alias: 'buyer', role: 'buyer' },
  { alias: 'buyer-two', role: 'buyer' },
]

export type RegtestNetwork = {
  readonly servers: LightningServers
  readonly nodes: readonly RegtestNode[]
  /** @throws Error with the aliases of the existing nodes */
  readonly nodeByAlias: (alias: string) => RegtestNode
  readonly nodesWithRole: (role: NodeRole) => readonly RegtestNode[]
  /** Mines blocks and, unlike `servers.mine`, gives the guard time between them. */
  readonly mine: MineBlocks
  readonly stop: () => Promise<void>
}

const REFRESH_INTERVAL_MS = 600_000

/** Starts btcd and all nodes, with coins and channels. A server that ends is restarted. */
export async function startRegtestNetwork(folder: string, printLine: PrintLine, signal: AbortSignal): Promise<RegtestNetwork> {
  const servers = await startLightning({ nodes: NODES.map(({ alias }) => alias), dir: folder, signal })
  const chain = superviseServer('btcd', toRestartableChain(servers), printLine)
  const nodes = servers.nodes.map((node) =>
    superviseServer(node.alias === 'market' ? "the market's lnd" : `${node.alias}'s lnd`, node, printLine),
  )
  const stopping = new AbortController()
  const chainRefresh = keepChainFresh(servers, stopping.signal)
  const stop = async (): Promise<void> => {
    stopping.abort()
    await Promise.all([...nodes.map((node) => node.stop()), chainRefresh])
    // The chain stops after the nodes that follow it.
    await chain.stop()
  }
  try {
    signal.throwIfAborted()
    const regtestNodes = await Promise.all(NODES.map((one) => openRegtestNode(one, servers)))
    const nodesWithRole = (role: NodeRole) => regtestNodes.filter((one) => one.role === role)
    const [market] = nodesWithRole('market')
    if (!market) throw new Error('the network has no market')
    await ensureCoins(servers, regtestNodes, signal)
    await ensureChannels(servers, [
      ...nodesWithRole('buyer').map((buyer) => [buyer, market] as const),
      ...nodesWithRole('seller').map((seller) => [market, seller] as const),
    ])
    signal.throwIfAborted()
    const mine = createMiner(createMiningState(servers, market), MACHINE_CLOCK)
    return { servers, nodes: regtestNodes, nodesWithRole, mine, stop, nodeByAlias: (alias) => findNode(regtestNodes, alias) }
  } catch (error) {
    await stop()
    throw error
  }
}

/** After a restart, `btcd` loads its blocks again one by one. The nodes are killed then, so that they are restarted too. */
const toRestartableChain = ({ chain, nodes }: LightningServers): Startable => ({
  get pid() {
    return chain.pid
  },
  async start(signal) {
    await chain.start(signal)
    await Promise.all(nodes.map((node) => node.kill()))
  },
  answers: chain.answers,
  kill: chain.kill,
  stop: chain.stop,
})

async function openRegtestNode({ alias, role }: (typeof NODES)[number], servers: LightningServers): Promise<RegtestNode> {
  const lnd = servers.node(alias)
  const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = lnd
  const lightning = connectLndNode({ socket, certFile, macaroonFile })
  return { alias, role, lnd, lightning, info: await lightning.info() }
}

function findNode(regtestNodes: readonly RegtestNode[], alias: string): RegtestNode {
  const found = regtestNodes.find((one) => one.alias === alias)
  if (found) return found
  throw new Error(`There is no node ${alias}; there are ${regtestNodes.map((one) => one.alias).join(', ')}.`)
}

/** Mines a block when the newest one is old, because lnd opens no channel on a chain that seems stale. */
async function keepChainFresh({ chain }: LightningServers, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(REFRESH_INTERVAL_MS, undefined, { signal }).catch(() => undefined) // stopped while it waits
    // The error is ignored, because btcd may be down now.
    if (!signal.aborted) await chain.mineIfStale().catch(() => undefined)
  }
}
