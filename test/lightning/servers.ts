import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type LndConnection, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { createRpc } from '@penstock/adapters/bitcoind/rpc.ts'
import { installLightning, explainMissingLightning } from '@penstock/servers/lightning-install.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { type LightningOptions, type LightningServers, startLightning } from '@penstock/servers/lightning.ts'
import { getPeers } from 'lightning'
import { isSkipped } from '../support/skip.ts'
import { useServer } from '../support/use-server.ts'

/** The argument of `describe.skipIf` for suites that need a Lightning network. */
export const isLightningMissing = isSkipped('Suites on a real Lightning network are', await explainMissingLightning())
// Installs before the tests and their timeouts, because the first installation takes minutes.
if (!isLightningMissing) await installLightning()

/** Starts a network for the tests of one file. */
export const useLightningServers = (options: LightningOptions): (() => LightningServers) =>
  useServer(() => startLightning(options), isLightningMissing)

/**
 * Kills the node, and runs the function after its peers have noticed the end. Before, the peers report the node as connected, and
 * queue messages on the broken connection for a minute. Restarts the node even if the function fails.
 */
export async function runWithoutNode(servers: LightningServers, alias: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const deadNode = servers.node(alias)
  const peers = servers.nodes.filter((node) => node !== deadNode)
  const hasDisconnected = async ({ lnd }: LndNode): Promise<boolean> =>
    (await getPeers({ lnd })).peers.every(({ public_key }) => public_key !== deadNode.pubkey)
  await deadNode.kill()
  try {
    await Promise.all(peers.map((node) => waitForResult(`${node.alias} loses ${alias}`, () => hasDisconnected(node))))
    await meanwhile()
  } finally {
    await deadNode.start()
  }
}

/** Connects to a node as a separate process would. */
export function connectToNode(servers: LightningServers, alias: string, macaroonFile?: string): LndConnection {
  const { rpcSocket: socket, certFile, adminMacaroonFile } = servers.node(alias)
  return connectLnd({ socket, certFile, macaroonFile: macaroonFile ?? adminMacaroonFile }, systemClock)
}

/** @param transport `wss` is the WebSocket of btcd */
export const createChainRpc = (
  { chain: { user, password, port, certFile } }: LightningServers,
  transport: 'https' | 'wss' = 'https',
) => createRpc({ url: `${transport}://${user}:${password}@localhost:${port}${transport === 'wss' ? '/ws' : ''}`, certFile })
