import { parseConnectionUri } from '@penstock/bitcoin/pubkey.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { BookEntry } from '@penstock/market/book.ts'
import { lspSellers } from '@penstock/market/market.ts'
import type { Pricing } from '@penstock/market/rank.ts'
import type { Gateway } from '../ports.ts'
import { tablesOf } from '../views/tables.ts'
import type { LspType, Outside } from './book.ts'

type Peers = Outside['peers']

/** The book with what it is priced with. */
export type Market = { readonly entries: readonly BookEntry[]; readonly pricing: Pricing }

/** A seller that wallets were told to connect to. */
export type Named = { readonly pubkey: string; readonly uris: readonly string[] }

const EPOCH_MS = 10 * MINUTE_MS
const MOST = 3

const epochAt = (at: number): number => Math.floor(at / EPOCH_MS)

/**
 * The sellers that get_info names: chosen once for ten minutes, so that a wallet finds connected whom it orders from.
 * A place that is free is filled later; only where none of them can sell any more others are named too.
 */
export async function namedNow(
  gateway: Gateway,
  peers: Peers,
  type: LspType,
  { entries, pricing }: Market,
): Promise<readonly Named[]> {
  const { clock, config } = gateway
  const epoch = epochAt(clock.now())
  const before = await stored(gateway, type, [epoch])
  const selling = new Set(entries.filter(({ seller }) => seller.live).map(({ seller }) => seller.pubkey))
  const alive = before.filter(({ pubkey }) => selling.has(pubkey))
  if (before.length >= MOST && alive.length > 0) return alive.slice(0, MOST)
  const others = entries.filter(({ seller }) => !before.some(({ pubkey }) => pubkey === seller.pubkey))
  const best = await reachable(peers, others, (able) => lspSellers(able, type, config.maxChannelExpiryBlocks, pricing))
  const fresh = best.slice(0, alive.length === 0 ? MOST : MOST - before.length)
  await keep(gateway, type, epoch, fresh, before.length)
  return [...alive, ...fresh]
}

/** Whom an order may be given to without asking where the buyer is: those of this epoch and of the one before. */
export async function namedLately(gateway: Gateway, type: LspType): Promise<readonly string[]> {
  const epoch = epochAt(gateway.clock.now())
  const named = await stored(gateway, type, [epoch, epoch - 1])
  return [...new Set(named.map(({ pubkey }) => pubkey))]
}

/** The best sellers of which an address is known: nobody can connect to others before they order. */
async function reachable(
  peers: Peers,
  entries: readonly BookEntry[],
  rank: (able: readonly BookEntry[]) => readonly string[],
): Promise<readonly Named[]> {
  const best = await Promise.all(rank(entries).map(async (pubkey) => ({ pubkey, uris: await urisOf(peers, pubkey) })))
  const unknown = best.filter(({ uris }) => uris.length === 0)
  if (unknown.length === 0) return best
  return reachable(
    peers,
    entries.filter(({ seller }) => !unknown.some(({ pubkey }) => pubkey === seller.pubkey)),
    rank,
  )
}

async function urisOf(peers: Peers, pubkey: string): Promise<readonly string[]> {
  const { sockets } = await peers.addresses(pubkey)
  return sockets.map((socket) => `${pubkey}@${socket}`).filter((uri) => parseConnectionUri(uri) !== undefined)
}

async function stored({ views }: Pick<Gateway, 'views'>, type: LspType, epochs: readonly number[]): Promise<readonly Named[]> {
  const rows = await tablesOf(views)
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

/** Replicas may choose at the same moment: then their choices add up, and each reads the same three of them from then on. */
async function keep(
  { views }: Pick<Gateway, 'views'>,
  type: LspType,
  epoch: number,
  fresh: readonly Named[],
  from: number,
): Promise<void> {
  if (fresh.length === 0) return
  const rows = fresh.map(({ pubkey, uris }, index) => ({ type, epoch, pubkey, place: from + index, uris: uris.join(' ') }))
  const db = tablesOf(views)
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
