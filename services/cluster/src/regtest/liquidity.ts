import { connect, fund, isActive, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import type { Person } from './person.ts'

const COINS = 10
const COIN_SAT = 50_000_000
/** Below that new ones are made; a sale takes a coin until it is confirmed. */
const LEAST_COINS = 4
const CHANNEL_SAT = 10_000_000
const LEAST_SAT = 1_000_000n

/** Everybody has coins to open channels with: sellers what they sell, buyers and the market their ways to each other. */
export async function coinsAreThere(servers: LightningServers, people: readonly Person[], over: AbortSignal): Promise<void> {
  for (const { node, lightning } of people) {
    over.throwIfAborted()
    if ((await lightning.wallet.confirmedSat()) < BigInt(LEAST_COINS * COIN_SAT)) await fund(servers, node, COIN_SAT, COINS)
  }
}

/**
 * Each pair has a channel with something left on the side of the first, in the graphs of all: that is the market's inbound
 * liquidity from the buyers, and its way to pay the sellers.
 */
export async function channelsStand(
  servers: LightningServers,
  pairs: readonly (readonly [from: Person, to: Person])[],
): Promise<void> {
  const outpoints: string[] = []
  for (const [from, to] of pairs) outpoints.push(await channelBetween(servers, from, to))
  await Promise.all(outpoints.flatMap((outpoint) => servers.nodes.map((node) => knowsChannel(node, outpoint))))
}

async function channelBetween(servers: LightningServers, from: Person, to: Person): Promise<string> {
  const kept = (await from.lightning.channels.list()).find(
    ({ peer, openedByUs, state, localSat }) =>
      peer === to.info.pubkey && openedByUs && (state === 'active' || state === 'inactive') && localSat > LEAST_SAT,
  )
  if (!kept) return openAnnounced(servers, from.node, to.node, CHANNEL_SAT)
  // After a restart it takes nodes a while to find each other by themselves.
  await connect(from.node, to.node)
  await Promise.all([isActive(from.node, kept.outpoint), isActive(to.node, kept.outpoint)])
  return kept.outpoint
}
