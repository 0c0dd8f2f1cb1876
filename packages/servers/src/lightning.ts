import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getWalletInfo } from 'lightning'
import { readOrReservePorts } from './read-or-create.ts'
import { type Btcd, createBtcd } from './lightning-btcd.ts'
import { installLightning } from './lightning-install.ts'
import { type LndNode, createLndNode } from './lightning-lnd.ts'
import { waitForResult } from './lightning-daemon.ts'

/** lnd gives each of its subsystems a minute for a block, and reports no progress during that time. */
const SYNC_TIMEOUT_MS = 150_000

export type LightningOptions = {
  /** Names of the nodes. With `dir`, every start needs the same names in the same order. */
  readonly nodes: readonly string[]
  /** The folder of the data and the ports. By default it is a temporary folder, which `stop` removes. */
  readonly dir?: string
  /** Additional arguments of lnd, by node. */
  readonly args?: Readonly<Record<string, readonly string[]>>
  /** Aborts a start, and stops the processes that have started. */
  readonly signal?: AbortSignal
}

export type LightningServers = {
  readonly chain: Btcd
  readonly nodes: readonly LndNode[]
  /** @throws Error with the known aliases */
  readonly node: (alias: string) => LndNode
  /** Returns when every running node has seen the blocks. */
  readonly mine: (count?: number) => Promise<void>
  /** Returns when every running node is at the tip. Use it for blocks that `mine` did not make. */
  readonly waitUntilSynced: () => Promise<void>
  /** Replaces the last blocks by a branch that is one block longer. Their transactions return to the mempool and new blocks. */
  readonly reorganise: (depth: number) => Promise<void>
  /** Kills all processes permanently. The data stay if `dir` was given. */
  readonly stop: () => Promise<void>
}

/** Starts a real regtest network (btcd and lnd) as child processes on loopback. They end with this process, even by kill -9. */
export async function startLightning(options: LightningOptions): Promise<LightningServers> {
  const programs = await installLightning()
  const folder = options.dir ?? (await mkdtemp(join(tmpdir(), 'penstock-lightning-')))
  const [chainPort = 0, ...ports] = await readOrReservePorts(folder, 1 + 2 * options.nodes.length)
  const chain = await createBtcd(programs.btcd, join(folder, 'btcd'), chainPort, options.dir !== undefined)
  const nodes = options.nodes.map((alias, index) => {
    const [peerPort = 0, rpcPort = 0] = ports.slice(2 * index)
    const args = options.args?.[alias] ?? []
    return createLndNode(programs.lnd, chain, { alias, dir: join(folder, alias), peerPort, rpcPort, args })
  })
  const stop = async (): Promise<void> => {
    await Promise.all([...nodes, chain].map((server) => server.kill()))
    if (options.dir === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    await chain.start(options.signal)
    await Promise.all(nodes.map((node) => node.start(options.signal)))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    chain,
    nodes,
    node(alias) {
      const node = nodes.find((one) => one.alias === alias)
      if (node) return node
      throw new Error(`there is no node ${alias}; there are ${options.nodes.join(', ')}`)
    },
    async mine(count = 1) {
      await chain.rpc('generate', count)
      await waitUntilSynced(chain, nodes)
    },
    waitUntilSynced: () => waitUntilSynced(chain, nodes),
    async reorganise(depth) {
      await replaceBlocks(chain, depth)
      await waitUntilSynced(chain, nodes)
    },
    stop,
  }
}

async function waitUntilSynced(chain: Btcd, nodes: readonly LndNode[]): Promise<void> {
  let tip = await chain.rpc<string>('getbestblockhash')
  const isSynced = async (node: LndNode): Promise<boolean> => {
    // A node that is down, or goes down meanwhile, syncs after its restart.
    if (node.pid === undefined) return true
    const { current_block_hash: hash, current_block_height: height, is_synced_to_chain } = await getWalletInfo({ lnd: node.lnd })
    if (hash === tip && is_synced_to_chain) return true
    // Another block may have been made meanwhile, and the node may have seen it already.
    tip = await chain.rpc<string>('getbestblockhash')
    const state = hash === tip ? 'is at the tip and reports that it is not synced' : `is not at the tip ${tip}`
    throw new Error(`it has seen ${height}, ${hash}, and ${state}; its last output:\n${await node.readOutput()}`)
  }
  const waitForNode = (node: LndNode): Promise<unknown> =>
    waitForResult(`${node.alias} is at the tip`, () => isSynced(node), SYNC_TIMEOUT_MS).catch((error: unknown) => {
      throw new OutOfSyncError(node, { cause: error })
    })
  await Promise.all(nodes.map(waitForNode))
}

/** A node that does not follow the chain any more, although it answers. */
export class OutOfSyncError extends Error {
  readonly node: LndNode
  constructor(node: LndNode, options: ErrorOptions) {
    super(`${node.alias} does not follow the chain`, options)
    this.node = node
  }
}

/** Invalidates the first of the blocks, so that btcd mines before it. After `reconsiderblock` the shorter branch stays stale. */
async function replaceBlocks(chain: Btcd, depth: number): Promise<void> {
  const height = await chain.rpc<number>('getblockcount')
  const first = await chain.rpc<string>('getblockhash', height - depth + 1)
  await chain.rpc('invalidateblock', first)
  await chain.rpc('generate', depth + 1)
  await chain.rpc('reconsiderblock', first)
}
