import { Fault } from '@penstock/kernel/result.ts'
import { parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import type { GraphChannel, ProbeOutcome } from '@penstock/ports/lightning.ts'
import { readHeight } from '../chain.ts'
import {
  type SimChannelRow,
  ANNOUNCED_AT_DEPTH,
  findChannel,
  isChannelActive,
  isInGraphOf,
  OPEN_CHANNELS_OF_SQL,
  otherEndOf,
  shortChannelIdOf,
  sendableMsat,
} from './channels.ts'
import { findNode } from '../nodes.ts'
import type { SimnetStore } from '../store.ts'

/** @returns the channel if the viewer's graph contains it: an own channel once it is active, any other once it is announced */
export function findGraphChannel(store: SimnetStore, viewer: string, outpoint: string): GraphChannel | undefined {
  const channel = findChannel(store, outpoint)
  const height = readHeight(store)
  return channel && isInGraphOf(viewer, channel, height) ? toGraphChannel(channel) : undefined
}

const BETWEEN_SQL = `SELECT * FROM channel_view WHERE id IN (
  SELECT id FROM channels WHERE a = ?1 AND b = ?2 AND closed_height IS NULL UNION ALL
  SELECT id FROM channels WHERE a = ?2 AND b = ?1 AND closed_height IS NULL)`
/**
 * Excludes channels that the viewer cannot know yet. The filter runs before the expensive columns are read, because two nodes may
 * have many new channels.
 */
const MAY_BE_KNOWN_SQL = '(?3 IN (a, b) OR EXISTS (SELECT 1 FROM txs t WHERE t.txid = channel_view.txid AND t.height <= ?4))'

/** Caches results per store version, because many nodes query the same few pairs after a block. */
const betweenCaches = new WeakMap<
  SimnetStore,
  { readonly version: string; readonly between: Map<string, readonly GraphChannel[]> }
>()

export function findChannelsBetween(store: SimnetStore, viewer: string, a: string, b: string): readonly GraphChannel[] {
  const version = store.version()
  let cache = betweenCaches.get(store)
  if (cache?.version !== version) betweenCaches.set(store, (cache = { version, between: new Map() }))
  const cacheKey = `${viewer} ${a} ${b}`
  const found = cache.between.get(cacheKey) ?? queryChannelsBetween(store, viewer, a, b)
  cache.between.set(cacheKey, found)
  return found
}

function queryChannelsBetween(store: SimnetStore, viewer: string, a: string, b: string): readonly GraphChannel[] {
  const height = readHeight(store)
  return store
    .all<SimChannelRow>(`${BETWEEN_SQL} AND ${MAY_BE_KNOWN_SQL}`, a, b, viewer, height - ANNOUNCED_AT_DEPTH + 1)
    .filter((channel) => isInGraphOf(viewer, channel, height))
    .map((channel) => toGraphChannel(channel))
}

/** The gossip about a node, which is empty until the node has an announced channel. */
export function findAnnouncedAddresses(store: SimnetStore, pubkey: string): { alias: string; sockets: string[] } {
  const node = findNode(store, pubkey)
  const announced = store.get(
    `SELECT 1 FROM channel_view WHERE ${OPEN_CHANNELS_OF_SQL} AND state = 'published' AND is_private = 0 AND is_spent = 0 AND is_unlisted = 0 AND funding_height <= ?2 LIMIT 1`,
    pubkey,
    readHeight(store) - ANNOUNCED_AT_DEPTH + 1,
  )
  return node && announced ? { alias: node.alias, sockets: [node.socket] } : { alias: '', sockets: [] }
}

type ProbeRequest = {
  readonly via: string
  readonly shortChannelId: string
  readonly destination: string
  readonly amountMsat: bigint
}

/** Follows an HTLC with an unknown preimage to the node at which it fails, and reports the failure like real nodes. */
export function probeChannel(
  store: SimnetStore,
  from: string,
  { via, shortChannelId, destination, amountMsat }: ProbeRequest,
): ProbeOutcome {
  const height = readHeight(store)
  const failed = (failedAt: 'route' | 'seller', reason: string): ProbeOutcome => ({ reached: false, failedAt, reason })
  const first = store
    .all<SimChannelRow>(BETWEEN_SQL, from, via)
    .filter((channel) => isChannelActive(channel) && isInGraphOf(from, channel, height))
  if (!first.some((channel) => sendableMsat(channel, from) >= amountMsat)) return failed('route', 'NoRoute')
  const target = findActiveChannelAt(store, via, shortChannelId)
  if (!target) return failed('seller', 'UnknownNextPeer')
  if (sendableMsat(target, via) < amountMsat) return failed('seller', 'TemporaryChannelFailure')
  // Only the destination can decrypt the onion. If another node receives it, the hop before that node reports the failure.
  return otherEndOf(target, via) === destination ? { reached: true } : failed('seller', 'InvalidOnionHmac')
}

/** Makes a node hold probes without an answer, or release them. The setting survives restarts. */
export function setHoldsProbes(store: SimnetStore, pubkey: string, isHolding: boolean): void {
  if (isHolding) store.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', `holds_probes/${pubkey}`, '1')
  else store.run('DELETE FROM meta WHERE key = ?', `holds_probes/${pubkey}`)
  store.notify(`probes/${pubkey}`)
}

const isHoldingProbes = (store: SimnetStore, pubkey: string): boolean =>
  store.get('SELECT 1 FROM meta WHERE key = ?', `holds_probes/${pubkey}`) !== undefined

/** Resolves once the node releases its probes. @throws Fault when the network is closed meanwhile */
export async function waitForProbeRelease(store: SimnetStore, pubkey: string): Promise<void> {
  const released = store.watch(`probes/${pubkey}`, store.ended, () => (isHoldingProbes(store, pubkey) ? undefined : true))
  for await (const _ of released) return
  throw new Fault('the network was closed while a probe was held')
}

/** Finds an active channel by its short channel id. After a re-organisation another channel may have the same id. */
function findActiveChannelAt(store: SimnetStore, end: string, shortChannelId: string): SimChannelRow | undefined {
  const location = parseShortChannelId(shortChannelId)
  if (!location) return undefined
  const candidates = store.all<SimChannelRow>(
    'SELECT * FROM channel_view WHERE used_height = ? AND used_index = ? AND vout = ? AND ? IN (a, b) ORDER BY id DESC',
    location.height,
    location.txIndex,
    location.vout,
    end,
  )
  return candidates.find((channel) => isChannelActive(channel))
}

const toGraphChannel = (channel: SimChannelRow): GraphChannel => ({
  outpoint: channel.outpoint,
  shortChannelId: shortChannelIdOf(channel) ?? '',
  capacitySat: channel.capacity_sat,
  nodes: [channel.a, channel.b],
  policies: [
    {
      node: channel.a,
      baseFeeMsat: channel.a_base_msat,
      feeRatePpm: Number(channel.a_ppm),
      disabled: !isChannelActive(channel),
    },
    {
      node: channel.b,
      baseFeeMsat: channel.b_base_msat,
      feeRatePpm: Number(channel.b_ppm),
      disabled: !isChannelActive(channel),
    },
  ],
})
