import { parseConnectionUri } from '@penstock/bitcoin/pubkey.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { BookEntry } from '@penstock/market/order-book.ts'
import { selectLspSellers } from '@penstock/market/market.ts'
import type { Pricing } from '@penstock/market/rank.ts'
import type { Gateway } from '../ports.ts'
import { withPublishedSellers } from './published-seller-table.ts'
import type { LspType, NodeSources } from './book.ts'

type Peers = NodeSources['peers']

/** The offers of the order book, with their pricing. */
export type PricedBook = { readonly entries: readonly BookEntry[]; readonly pricing: Pricing }

/** A seller that get_info publishes, so that wallets connect to one of its addresses. */
export type PublishedSeller = { readonly pubkey: string; readonly uris: readonly string[] }

const EPOCH_MS = 10 * MINUTE_MS
const MAX_PUBLISHED = 3

const computeEpoch = (at: number): number => Math.floor(at / EPOCH_MS)

/**
 * Selects up to three sellers that get_info publishes. The selection stays for an epoch of ten minutes, so that a wallet
 * connects to the seller of its later order. A free place can be filled during the epoch. A full selection gets other sellers
 * only if none of its sellers is live.
 */
export async function publishSellers(
  gateway: Gateway,
  peers: Peers,
  type: LspType,
  { entries, pricing }: PricedBook,
): Promise<readonly PublishedSeller[]> {
  const { clock, config } = gateway
  const epoch = computeEpoch(clock.now())
  const published = await readPublished(gateway, type, [epoch])
  const livePubkeys = new Set(entries.filter(({ seller }) => seller.live).map(({ seller }) => seller.pubkey))
  const stillLive = published.filter(({ pubkey }) => livePubkeys.has(pubkey))
  if (published.length >= MAX_PUBLISHED && stillLive.length > 0) return stillLive.slice(0, MAX_PUBLISHED)
  const candidates = entries.filter(({ seller }) => !published.some(({ pubkey }) => pubkey === seller.pubkey))
  const ranked = await rankReachable(peers, candidates, (sellable) =>
    selectLspSellers(sellable, type, config.maxChannelExpiryBlocks, pricing),
  )
  const added = ranked.slice(0, stillLive.length === 0 ? MAX_PUBLISHED : MAX_PUBLISHED - published.length)
  await storePublished(gateway, type, epoch, added, published.length)
  return [...stillLive, ...added]
}

/** Lists the sellers of this epoch and of the previous epoch. These sellers may serve a buyer without a known address. */
export async function listPublishedSellers(gateway: Gateway, type: LspType): Promise<readonly string[]> {
  const epoch = computeEpoch(gateway.clock.now())
  const published = await readPublished(gateway, type, [epoch, epoch - 1])
  return [...new Set(published.map(({ pubkey }) => pubkey))]
}

/** Ranks the sellers with a known address, because a buyer cannot connect to other sellers before its order. */
async function rankReachable(
  peers: Peers,
  entries: readonly BookEntry[],
  rank: (sellable: readonly BookEntry[]) => readonly string[],
): Promise<readonly PublishedSeller[]> {
  const ranked = await Promise.all(rank(entries).map(async (pubkey) => ({ pubkey, uris: await listUris(peers, pubkey) })))
  const withoutAddress = ranked.filter(({ uris }) => uris.length === 0)
  if (withoutAddress.length === 0) return ranked
  return rankReachable(
    peers,
    entries.filter(({ seller }) => !withoutAddress.some(({ pubkey }) => pubkey === seller.pubkey)),
    rank,
  )
}

async function listUris(peers: Peers, pubkey: string): Promise<readonly string[]> {
  const { sockets } = await peers.addresses(pubkey)
  return sockets.map((socket) => `${pubkey}@${socket}`).filter((uri) => parseConnectionUri(uri) !== undefined)
}

async function readPublished(
  { views }: Pick<Gateway, 'views'>,
  type: LspType,
  epochs: readonly number[],
): Promise<readonly PublishedSeller[]> {
  const rows = await withPublishedSellers(views)
    .selectFrom('gateway_lsp_sellers')
    .select(['pubkey', 'uris'])
    .where('type', '=', type)
    .where('epoch', 'in', epochs)
    .orderBy('epoch', 'desc')
    .orderBy('place')
    .orderBy('pubkey')
    .execute()
  return rows.map(({ pubkey, uris }) => ({ pubkey, uris: uris.split(' ') }))
}

/** If two replicas select at the same time, the table contains both selections. Each replica reads the same first three. */
async function storePublished(
  { views }: Pick<Gateway, 'views'>,
  type: LspType,
  epoch: number,
  added: readonly PublishedSeller[],
  firstPlace: number,
): Promise<void> {
  if (added.length === 0) return
  const rows = added.map(({ pubkey, uris }, index) => ({ type, epoch, pubkey, place: firstPlace + index, uris: uris.join(' ') }))
  const db = withPublishedSellers(views)
  await db
    .insertInto('gateway_lsp_sellers')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .deleteFrom('gateway_lsp_sellers')
    .where('epoch', '<', epoch - 1)
    .execute()
}
