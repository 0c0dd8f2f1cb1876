import { Fault } from '@penstock/kernel/result.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { createChainPort } from './chain-port.ts'
import { createSimControl, type SimControl } from './control.ts'
import { createLightningPort } from './lightning.ts'
import { mineBlocks } from './mining.ts'
import { requireNode } from './nodes.ts'
import { resumePartTimeouts } from './payments/mpp-parts.ts'
import { type SimnetStore, openSimnetStore, type RandomBytes } from './store.ts'
import { type ChannelSpec, createTopology, DEFAULT_NODES, buildDefaultTopology, type NodeSpec } from './topology.ts'

export type SimnetOptions = {
  /** The SQLite file of the network, which outlives every process that uses it. */
  readonly path: string
  /** Seconds between blocks; 0 mines blocks only on request. No block is mined while the network is closed. */
  readonly blockSeconds: number
  readonly clock: Clock
  /** Source of keys, preimages and nonces; the random source of the system by default. */
  readonly random?: RandomBytes
  /** The nodes of the first start; a later start uses the stored nodes. */
  readonly nodes?: readonly NodeSpec[]
  readonly topology?: readonly ChannelSpec[]
}

export type Simnet = {
  /** The Lightning port of a node, by the node's alias. @throws Error that lists the existing nodes */
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: SimControl
  /** Reads the tables of the network, with integers as bigints. Tests compare the state of a market with these rows. */
  readonly rows: <Row>(sql: string) => Row[]
  readonly close: () => Promise<void>
}

/**
 * A Lightning network in one file. Keys, invoices, scripts and transaction ids are real, but there are no peer messages and no
 * input signatures.
 */
export function openSimnet({
  path,
  blockSeconds,
  clock,
  random,
  nodes = DEFAULT_NODES,
  topology = buildDefaultTopology(nodes),
}: SimnetOptions): Simnet {
  const store = openSimnetStore(path, clock, random)
  createTopology(store, nodes, topology)
  resumePartTimeouts(store)
  const miner = blockSeconds > 0 ? mineForever(store, blockSeconds * 1000) : Promise.resolve()
  return {
    lightning: (alias) => createLightningPort(store, requireNode(store, alias).alias),
    chain: () => createChainPort(store),
    control: createSimControl(store),
    rows: (sql) => store.all(sql),
    close: async () => {
      store.close()
      await miner
    },
  }
}

async function mineForever(store: SimnetStore, everyMs: number): Promise<void> {
  while (!store.ended.aborted) {
    await store.clock.sleep(everyMs, store.ended)
    if (!store.ended.aborted) mineOne(store)
  }
}

/** Without space on the disk no block is found. */
function mineOne(store: SimnetStore): void {
  try {
    mineBlocks(store, 1)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}
