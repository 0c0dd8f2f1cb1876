import { MINER } from './chain.ts'
import { listAllNodes } from './nodes.ts'
import type { SimnetStore } from './store.ts'

export type SimnetBalances = {
  readonly nodes: readonly {
    readonly alias: string
    /** All coins of the node, including unconfirmed and locked coins. */
    readonly onChainMsat: bigint
    /** The amount on the side of the node in its open channels. */
    readonly channelMsat: bigint
  }[]
  /** The amount in HTLCs, which belongs to no node until they are settled or cancelled. */
  readonly inFlightMsat: bigint
  /** Fees that were paid to miners, and fees of transactions in the mempool. */
  readonly feesMsat: bigint
  /** The sum of all amounts above, which never changes. */
  readonly totalMsat: bigint
}

// A channel contains money while its funding is in the chain or the mempool and is not spent.
const OPEN_CHANNEL_SQL = "closed_height IS NULL AND state = 'published' AND is_seen = 1 AND is_spent = 0"

export function readSimnetBalances(store: SimnetStore): SimnetBalances {
  const sum = (sql: string, ...values: string[]): bigint => store.get<{ sum: bigint | null }>(sql, ...values)?.sum ?? 0n
  const nodes = listAllNodes(store).map(({ alias, pubkey }) => ({
    alias,
    onChainMsat: 1000n * sum('SELECT sum(value_sat) AS sum FROM outputs WHERE owner = ? AND spent_by IS NULL', pubkey),
    channelMsat:
      sum(`SELECT sum(a_msat) AS sum FROM channel_view WHERE a = ? AND ${OPEN_CHANNEL_SQL}`, pubkey) +
      sum(`SELECT sum(b_msat) AS sum FROM channel_view WHERE b = ? AND ${OPEN_CHANNEL_SQL}`, pubkey),
  }))
  const inFlightMsat = sum(`SELECT sum(held_msat) AS sum FROM channel_view WHERE ${OPEN_CHANNEL_SQL}`)
  const feesMsat =
    1000n * sum('SELECT sum(value_sat) AS sum FROM outputs WHERE owner = ? AND spent_by IS NULL', MINER) +
    1000n * sum('SELECT sum(fee_sat) AS sum FROM txs WHERE height IS NULL')
  const totalMsat = nodes.reduce((total, node) => total + node.onChainMsat + node.channelMsat, 0n) + inFlightMsat + feesMsat
  return { nodes, inFlightMsat, feesMsat, totalMsat }
}
