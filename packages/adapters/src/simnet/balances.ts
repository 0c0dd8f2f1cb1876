import { MINER } from './chain.ts'
import { allNodes } from './nodes.ts'
import type { Net } from './store.ts'

export type Balances = {
  readonly nodes: readonly {
    readonly alias: string
    /** All its coins, unconfirmed and locked ones too. */
    readonly onChainMsat: bigint
    /** Its side of its open channels. */
    readonly channelMsat: bigint
  }[]
  /** In HTLCs: nobody's until they are settled or cancelled. */
  readonly inFlightMsat: bigint
  /** Paid to miners, and offered to them by what waits in the mempool. */
  readonly feesMsat: bigint
  /** All of the above: it never changes. */
  readonly totalMsat: bigint
}

// A channel holds money while its funding is on the chain or on its way, and nothing has spent it.
const OPEN = "closed_height IS NULL AND state = 'published' AND is_seen = 1 AND is_spent = 0"

export function balancesOf(net: Net): Balances {
  const sum = (sql: string, ...values: string[]): bigint => net.get<{ sum: bigint | null }>(sql, ...values)?.sum ?? 0n
  const nodes = allNodes(net).map(({ alias, pubkey }) => ({
    alias,
    onChainMsat: 1000n * sum('SELECT sum(value_sat) AS sum FROM outputs WHERE owner = ? AND spent_by IS NULL', pubkey),
    channelMsat:
      sum(`SELECT sum(a_msat) AS sum FROM channel_view WHERE a = ? AND ${OPEN}`, pubkey) +
      sum(`SELECT sum(b_msat) AS sum FROM channel_view WHERE b = ? AND ${OPEN}`, pubkey),
  }))
  const inFlightMsat = sum(`SELECT sum(held_msat) AS sum FROM channel_view WHERE ${OPEN}`)
  const feesMsat =
    1000n * sum('SELECT sum(value_sat) AS sum FROM outputs WHERE owner = ? AND spent_by IS NULL', MINER) +
    1000n * sum('SELECT sum(fee_sat) AS sum FROM txs WHERE height IS NULL')
  const totalMsat = nodes.reduce((total, node) => total + node.onChainMsat + node.channelMsat, 0n) + inFlightMsat + feesMsat
  return { nodes, inFlightMsat, feesMsat, totalMsat }
}
