import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type Connection, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { rpcOf } from '@penstock/adapters/bitcoind/rpc.ts'
import { installLightning, lightningMissing } from '@penstock/servers/lightning-install.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { type LightningOptions, type LightningServers, startLightning } from '@penstock/servers/lightning.ts'
import { getPeers } from 'lightning'
import { afterAll, beforeAll } from 'vitest'

const missing = await lightningMissing()
// Where everything is tested, a machine without Go is a mistake.
if (missing !== undefined && process.env['CI'] !== undefined) throw new Error(missing)
if (missing !== undefined) console.log(`Suites on a real Lightning network are skipped. ${missing}`)
// Outside of every time limit: the first time it takes minutes.
else await installLightning()

/** For `describe.skipIf`. */
export const noLightning = missing !== undefined

/** A network for the tests of one file. */
export function network(options: LightningOptions): () => LightningServers {
  let servers: LightningServers | undefined
  beforeAll(async () => {
    if (!noLightning) servers = await startLightning(options)
  })
  afterAll(() => servers?.stop())
  return () => {
    if (!servers) throw new Error('the network was not started')
    return servers
  }
}

/**
 * The node is dead meanwhile, and its peers know: what they send on a connection that is dead already is kept for a minute,
 * and they call a peer connected that is not. It is back for whatever comes next, whatever becomes of this.
 */
export async function withoutNode(servers: LightningServers, alias: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const gone = servers.node(alias)
  const others = servers.nodes.filter((node) => node !== gone)
  const hasSeen = async ({ lnd }: LndNode): Promise<boolean> =>
    (await getPeers({ lnd })).peers.every(({ public_key }) => public_key !== gone.pubkey)
  await gone.kill()
  try {
    await Promise.all(others.map((node) => until(`${node.alias} sees ${alias} go`, () => hasSeen(node))))
    await meanwhile()
  } finally {
    await gone.start()
  }
}

/** As a process of its own would connect. */
export function connected(servers: LightningServers, alias: string, macaroonFile?: string): Connection {
  const { rpcSocket: socket, certFile, adminMacaroonFile } = servers.node(alias)
  return connectLnd({ socket, certFile, macaroonFile: macaroonFile ?? adminMacaroonFile }, systemClock)
}

/** @param by `wss`: btcd's own socket */
export const rpcOfChain = ({ chain: { user, password, port, certFile } }: LightningServers, by: 'https' | 'wss' = 'https') =>
  rpcOf({ url: `${by}://${user}:${password}@localhost:${port}${by === 'wss' ? '/ws' : ''}`, certFile })
