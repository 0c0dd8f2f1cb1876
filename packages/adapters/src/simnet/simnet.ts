import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { chainOf } from './chain-port.ts'
import { controlOf, type SimControl } from './control.ts'
import { lightningOf } from './lightning.ts'
import { mine } from './mining.ts'
import { nodeCalled } from './nodes.ts'
import { resumeWaiting } from './parts.ts'
import { type Net, openStore, type Random } from './store.ts'
import { type ChannelSpec, createWorld, DEFAULT_NODES, defaultTopology, type NodeSpec } from './world.ts'

export type SimnetOptions = {
  /** Its own SQLite file: what is in it survives the death of everybody who uses it. */
  readonly path: string
  /** Seconds between blocks; 0: only when told. No block is made while the network is closed. */
  readonly blockSeconds: number
  readonly clock: Clock
  /** Where keys, preimages and nonces come from; the machine unless told. */
  readonly random?: Random
  /** The world as it is made at the first start; later ones find it as it was left. */
  readonly nodes?: readonly NodeSpec[]
  readonly topology?: readonly ChannelSpec[]
}

export type Simnet = {
  /** A node's interface, by its alias. @throws Error that names the nodes there are */
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: SimControl
  /** Reads its tables, integers as bigints: what is true, for whoever checks a market against it. */
  readonly rows: <Row>(sql: string) => Row[]
  readonly close: () => Promise<void>
}

/** A Lightning network in one file: real keys, invoices, scripts and transaction ids; no peer-to-peer messages, no signatures of inputs. */
export function openSimnet({
  path,
  blockSeconds,
  clock,
  random,
  nodes = DEFAULT_NODES,
  topology = defaultTopology(nodes),
}: SimnetOptions): Simnet {
  const net = openStore(path, clock, random)
  createWorld(net, nodes, topology)
  resumeWaiting(net)
  const miner = blockSeconds > 0 ? mineForever(net, blockSeconds * 1000) : Promise.resolve()
  return {
    lightning: (alias) => lightningOf(net, nodeCalled(net, alias).alias),
    chain: () => chainOf(net),
    control: controlOf(net),
    rows: (sql) => net.all(sql),
    close: async () => {
      net.close()
      await miner
    },
  }
}

async function mineForever(net: Net, everyMs: number): Promise<void> {
  while (!net.ended.aborted) {
    await net.clock.sleep(everyMs, net.ended)
    if (!net.ended.aborted) mine(net, 1)
  }
}
