import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import type { SimnetStore } from '../store.ts'

type ClosedChannelRow = {
  readonly outpoint: string
  readonly vout: bigint
  readonly a: string
  readonly b: string
  readonly state: string
  readonly closed_height: bigint | null
  readonly closed_by: string | null
  readonly is_forced: bigint | null
  readonly funding_height: bigint | null
  readonly funding_index: bigint | null
  readonly spent_by: string | null
}

/** The closed channels of the node ?1. */
const CLOSED_CHANNELS_OF_SQL = `
  SELECT c.outpoint, c.vout, c.a, c.b, c.state, c.closed_height, c.closed_by, c.is_forced,
    coalesce(c.used_height, f.height) AS funding_height, coalesce(c.used_index, f.tx_index) AS funding_index, o.spent_by
  FROM channels c LEFT JOIN txs f ON f.txid = c.txid LEFT JOIN outputs o ON o.txid = c.txid AND o.vout = c.vout
  WHERE (c.a = ?1 OR c.b = ?1) AND (
    c.state = 'abandoned' AND (c.a = ?1 OR c.pending_until IS NULL) OR c.closed_height IS NOT NULL)`

/** The closed channels of a node. For the peer, a channel that its opener abandoned is a lost funding. */
export const findClosedChannels = (store: SimnetStore, pubkey: string): ClosedChannel[] =>
  store.all<ClosedChannelRow>(`${CLOSED_CHANNELS_OF_SQL} ORDER BY c.id`, pubkey).map((row) => fromRow(row, pubkey))

/** @returns undefined if the channel is not closed */
export function findClosedChannel(store: SimnetStore, pubkey: string, outpoint: string): ClosedChannel | undefined {
  const row = store.get<ClosedChannelRow>(`${CLOSED_CHANNELS_OF_SQL} AND c.outpoint = ?2`, pubkey, outpoint)
  return row && fromRow(row, pubkey)
}

function fromRow(row: ClosedChannelRow, pubkey: string): ClosedChannel {
  const { outpoint, a, b, funding_height: height, funding_index: index } = row
  const isAbandoned = row.state === 'abandoned'
  const isOurs = a === pubkey
  return {
    outpoint,
    shortChannelId:
      height === null || index === null
        ? null
        : formatShortChannelId({ height: Number(height), txIndex: Number(index), vout: Number(row.vout) }),
    peer: isOurs ? b : a,
    ...(isAbandoned
      ? { how: isOurs ? 'abandoned' : 'funding-lost', by: 'us' }
      : {
          how: row.is_forced === 1n ? 'force' : 'cooperative',
          by: row.closed_by === null ? null : row.closed_by === pubkey ? 'us' : 'peer',
        }),
    closingTxid: row.spent_by,
    height: row.closed_height === null ? null : Number(row.closed_height),
  }
}
