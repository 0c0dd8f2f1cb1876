import {
  connectPeers,
  fundNode,
  waitUntilActive,
  waitUntilInGraph,
  openAnnouncedChannel,
} from '@penstock/servers/lightning-channels.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import type { RegtestNode } from './node-role.ts'

const COIN_COUNT = 10
const COIN_SAT = 50_000_000
/** A node with fewer coins gets new coins. A sale locks a coin until its funding is confirmed. */
const MIN_COINS = 4
const CHANNEL_SAT = 10_000_000
const MIN_LOCAL_SAT = 1_000_000n

/** Gives every node coins for its channels: sellers need them for their sales, buyers and the market for their routes. */
export async function ensureCoins(servers: LightningServers, nodes: readonly RegtestNode[], signal: AbortSignal): Promise<void> {
  for (const { lnd, lightning } of nodes) {
    signal.throwIfAborted()
    if ((await lightning.wallet.confirmedSat()) < BigInt(MIN_COINS * COIN_SAT)) await fundNode(servers, lnd, COIN_SAT, COIN_COUNT)
  }
}

/**
 * Ensures that each pair has a channel with funds on the side of the first node, and that all graphs contain it. Through these
 * channels the buyers pay the market, and the market pays the sellers.
 */
export async function ensureChannels(
  servers: LightningServers,
  pairs: readonly (readonly [from: RegtestNode, to: RegtestNode])[],
): Promise<void> {
  const outpoints: string[] = []
  for (const [from, to] of pairs) outpoints.push(await ensureChannelBetween(servers, from, to))
  await Promise.all(outpoints.flatMap((outpoint) => servers.nodes.map((lnd) => waitUntilInGraph(lnd, outpoint))))
}

async function ensureChannelBetween(servers: LightningServers, from: RegtestNode, to: RegtestNode): Promise<string> {
  const existing = (await from.lightning.channels.list()).find(
    ({ peer, openedByUs, state, localSat }) =>
      peer === to.info.pubkey && openedByUs && (state === 'active' || state === 'inactive') && localSat > MIN_LOCAL_SAT,
  )
  if (!existing) return openAnnouncedChannel(servers, from.lnd, to.lnd, CHANNEL_SAT)
  // After a restart, nodes reconnect by themselves only with a delay.
  await connectPeers(from.lnd, to.lnd)
  await Promise.all([waitUntilActive(from.lnd, existing.outpoint), waitUntilActive(to.lnd, existing.outpoint)])
  return existing.outpoint
}
