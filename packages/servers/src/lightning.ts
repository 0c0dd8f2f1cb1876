import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getWalletInfo } from 'lightning'
import { keptPorts } from './kept.ts'
import { type Btcd, btcdNode } from './lightning-btcd.ts'
import { installLightning } from './lightning-install.ts'
import { type LndNode, lndNode } from './lightning-lnd.ts'
import { until } from './lightning-process.ts'

/** lnd gives each of its parts a minute for a block, and tells nobody of itself as long as one of them takes it. */
const IN_STEP_MS = 150_000

export type LightningOptions = {
  /** Names of the nodes. With `dir`: the same ones in the same order at every start. */
  readonly nodes: readonly string[]
  /** Keeps the data and the ports; otherwise a temporary folder that `stop` removes. */
  readonly dir?: string
  /** More of lnd's own arguments, by node. */
  readonly args?: Readonly<Record<string, readonly string[]>>
}

export type LightningServers = {
  readonly chain: Btcd
  readonly nodes: readonly LndNode[]
  /** @throws Error that names those there are */
  readonly node: (alias: string) => LndNode
  /** Returns when every running node has seen the blocks. */
  readonly mine: (count?: number) => Promise<void>
  /** Returns when every running node is at the tip: for blocks that came by other ways. */
  readonly inStep: () => Promise<void>
  /** Replaces the last blocks by one more; what they confirmed goes back to the mempool, and into the new ones with it. */
  readonly reorganise: (depth: number) => Promise<void>
  /** Ends all for good, at once; the data stay where `dir` was given. */
  readonly stop: () => Promise<void>
}

/** A real Lightning network (regtest: btcd and lnd) as child processes of this one, on loopback; they end with it, also by kill -9. */
export async function startLightning(options: LightningOptions): Promise<LightningServers> {
  const programs = await installLightning()
  const folder = options.dir ?? (await mkdtemp(join(tmpdir(), 'penstock-lightning-')))
  const [chainPort = 0, ...ports] = await keptPorts(folder, 1 + 2 * options.nodes.length)
  const chain = await btcdNode(programs.btcd, join(folder, 'btcd'), chainPort, options.dir !== undefined)
  const nodes = options.nodes.map((alias, index) => {
    const [peerPort = 0, rpcPort = 0] = ports.slice(2 * index)
    const args = options.args?.[alias] ?? []
    return lndNode(programs.lnd, chain, { alias, dir: join(folder, alias), peerPort, rpcPort, args })
  })
  const stop = async (): Promise<void> => {
    await Promise.all([...nodes, chain].map((server) => server.kill()))
    if (options.dir === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    await chain.start()
    await Promise.all(nodes.map((node) => node.start()))
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
      await inStep(chain, nodes)
    },
    inStep: () => inStep(chain, nodes),
    async reorganise(depth) {
      await replaceBlocks(chain, depth)
      await inStep(chain, nodes)
    },
    stop,
  }
}

async function inStep(chain: Btcd, nodes: readonly LndNode[]): Promise<void> {
  let tip = await chain.rpc<string>('getbestblockhash')
  const isInStep = async (node: LndNode): Promise<boolean> => {
    // Who is down, or goes down meanwhile, sees it when it is back.
    if (node.pid === undefined) return true
    const { current_block_hash: hash, current_block_height: height, is_synced_to_chain } = await getWalletInfo({ lnd: node.lnd })
    if (hash === tip && is_synced_to_chain) return true
    // Somebody may have made another block meanwhile, and the node has seen that one too.
    tip = await chain.rpc<string>('getbestblockhash')
    const state = hash === tip ? 'is at the tip and says that it is not in step' : `is not at the tip ${tip}`
    throw new Error(`it has seen ${height}, ${hash}, and ${state}; it said last:\n${await node.said()}`)
  }
  const waited = (node: LndNode): Promise<unknown> =>
    until(`${node.alias} is at the tip`, () => isInStep(node), IN_STEP_MS).catch((error: unknown) => {
      throw new OutOfStep(node, { cause: error })
    })
  await Promise.all(nodes.map(waited))
}

/** A node that does not follow the chain any more, although it answers. */
export class OutOfStep extends Error {
  readonly node: LndNode
  constructor(node: LndNode, options: ErrorOptions) {
    super(`${node.alias} does not follow the chain`, options)
    this.node = node
  }
}

/** btcd mines on what is left after the first of the blocks was forbidden; forgiven later, the shorter branch stays beside. */
async function replaceBlocks(chain: Btcd, depth: number): Promise<void> {
  const height = await chain.rpc<number>('getblockcount')
  const first = await chain.rpc<string>('getblockhash', height - depth + 1)
  await chain.rpc('invalidateblock', first)
  await chain.rpc('generate', depth + 1)
  await chain.rpc('reconsiderblock', first)
}
