import { Fault } from '@penstock/kernel/result.ts'
import { parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import type { GraphChannel, ProbeOutcome } from '@penstock/ports/lightning.ts'
import { heightOf } from './chain.ts'
import {
  type Channel,
  DEPTH_ANNOUNCED,
  findChannel,
  isActive,
  knows,
  OPEN_OF,
  otherEnd,
  shortIdOf,
  sendableMsat,
} from './channels.ts'
import { findNode } from './nodes.ts'
import type { Net } from './store.ts'

/** @returns the channel as the viewer's graph has it: its own once usable, others when they are announced */
export function graphChannel(net: Net, viewer: string, outpoint: string): GraphChannel | undefined {
  const channel = findChannel(net, outpoint)
  const height = heightOf(net)
  return channel && knows(viewer, channel, height) ? toGraph(channel) : undefined
}

const BETWEEN = `SELECT * FROM channel_view WHERE id IN (
  SELECT id FROM channels WHERE a = ?1 AND b = ?2 AND closed_height IS NULL UNION ALL
  SELECT id FROM channels WHERE a = ?2 AND b = ?1 AND closed_height IS NULL)`
/** What the viewer cannot know yet is left out before the rest of it is looked up: two nodes may have many young channels. */
const MAYBE_KNOWN = '(?3 IN (a, b) OR EXISTS (SELECT 1 FROM txs t WHERE t.txid = channel_view.txid AND t.height <= ?4))'

/** A block makes everybody ask the same at once, about the same few nodes. */
const answers = new WeakMap<Net, { readonly version: string; readonly between: Map<string, readonly GraphChannel[]> }>()

export function channelsBetween(net: Net, viewer: string, a: string, b: string): readonly GraphChannel[] {
  const version = net.version()
  let known = answers.get(net)
  if (known?.version !== version) answers.set(net, (known = { version, between: new Map() }))
  const asked = `${viewer} ${a} ${b}`
  const found = known.between.get(asked) ?? findBetween(net, viewer, a, b)
  known.between.set(asked, found)
  return found
}

function findBetween(net: Net, viewer: string, a: string, b: string): readonly GraphChannel[] {
  const height = heightOf(net)
  return net
    .all<Channel>(`${BETWEEN} AND ${MAYBE_KNOWN}`, a, b, viewer, height - DEPTH_ANNOUNCED + 1)
    .filter((channel) => knows(viewer, channel, height))
    .map((channel) => toGraph(channel))
}

/** What gossip says of a node: nothing until it has an announced channel. */
export function announcedAddresses(net: Net, pubkey: string): { alias: string; sockets: string[] } {
  const node = findNode(net, pubkey)
  const announced = net.get(
    `SELECT 1 FROM channel_view WHERE ${OPEN_OF} AND state = 'published' AND is_private = 0 AND is_spent = 0 AND is_unlisted = 0 AND funding_height <= ?2 LIMIT 1`,
    pubkey,
    heightOf(net) - DEPTH_ANNOUNCED + 1,
  )
  return node && announced ? { alias: node.alias, sockets: [node.socket] } : { alias: '', sockets: [] }
}

type Probe = { readonly via: string; readonly shortChannelId: string; readonly destination: string; readonly amountMsat: bigint }

/** Follows an HTLC that nobody can settle to the place where it fails, as the answers of real nodes would name it. */
export function probe(net: Net, from: string, { via, shortChannelId, destination, amountMsat }: Probe): ProbeOutcome {
  const height = heightOf(net)
  const failed = (failedAt: 'route' | 'seller', reason: string): ProbeOutcome => ({ reached: false, failedAt, reason })
  const first = net.all<Channel>(BETWEEN, from, via).filter((channel) => isActive(channel) && knows(from, channel, height))
  if (!first.some((channel) => sendableMsat(channel, from) >= amountMsat)) return failed('route', 'NoRoute')
  const named = channelAt(net, via, shortChannelId)
  if (!named) return failed('seller', 'UnknownNextPeer')
  if (sendableMsat(named, via) < amountMsat) return failed('seller', 'TemporaryChannelFailure')
  // The onion is for the destination's key alone: whoever else gets it can't open it, and the hop before reports that.
  return otherEnd(named, via) === destination ? { reached: true } : failed('seller', 'InvalidOnionHmac')
}

/** A node that holds probes gives no answer to them until it is told to; it stays so through restarts. */
export function setHoldsProbes(net: Net, pubkey: string, holds: boolean): void {
  if (holds) net.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', `holds_probes/${pubkey}`, '1')
  else net.run('DELETE FROM meta WHERE key = ?', `holds_probes/${pubkey}`)
  net.touch(`probes/${pubkey}`)
}

const holdsProbes = (net: Net, pubkey: string): boolean =>
  net.get('SELECT 1 FROM meta WHERE key = ?', `holds_probes/${pubkey}`) !== undefined

/** Resolves once the node lets go of what it holds. @throws Fault when the network is closed meanwhile */
export async function probesReleased(net: Net, pubkey: string): Promise<void> {
  const free = net.watch(`probes/${pubkey}`, net.ended, () => (holdsProbes(net, pubkey) ? undefined : true))
  for await (const _ of free) return
  throw new Fault('the network was closed while a probe was held')
}

/** One that can be used: after a re-organisation another one may have come into use at the same place. */
function channelAt(net: Net, end: string, shortChannelId: string): Channel | undefined {
  const place = parseShortChannelId(shortChannelId)
  if (!place) return undefined
  const there = net.all<Channel>(
    'SELECT * FROM channel_view WHERE used_height = ? AND used_index = ? AND vout = ? AND ? IN (a, b) ORDER BY id DESC',
    place.height,
    place.txIndex,
    place.vout,
    end,
  )
  return there.find((channel) => isActive(channel))
}

const toGraph = (channel: Channel): GraphChannel => ({
  outpoint: channel.outpoint,
  shortChannelId: shortIdOf(channel) ?? '',
  capacitySat: channel.capacity_sat,
  nodes: [channel.a, channel.b],
  policies: [
    {
      node: channel.a,
      baseFeeMsat: channel.a_base_msat,
      feeRatePpm: Number(channel.a_ppm),
      disabled: !isActive(channel),
    },
    {
      node: channel.b,
      baseFeeMsat: channel.b_base_msat,
      feeRatePpm: Number(channel.b_ppm),
      disabled: !isActive(channel),
    },
  ],
})
