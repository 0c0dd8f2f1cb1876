import type { Product } from '../product.ts'
import type { OrderModel } from './order-model.ts'
import { readNetwork, type NetworkPayment, type ReadNetworkRows } from './network-state.ts'

/** A simulated node with its initial funds, and their changes other than its own payments, since the first block. */
export type NodeFunds = {
  readonly pubkey: string
  readonly alias: string
  /** The amount of the node's coins in the first block. */
  readonly begun_msat: bigint
  /** The miner fees of the node's own transactions, which fund channels. Unconfirmed transactions count too. */
  readonly miners_msat: bigint
  /** The routing fees that the node earned: settled HTLCs that it received for forwarding, minus those that it forwarded. */
  readonly routed_msat: bigint
  /**
   * The node's side of closed channels, minus its outputs of the closing transactions: the closing fees and the fractions of a
   * satoshi. For a channel whose funding was lost, the node's side minus its part of the funding.
   */
  readonly ended_msat: bigint
}

/** The balance of each node in msat, on the chain and in its channels, by alias. */
export type NodeBalances = ReadonlyMap<string, bigint>

/** Reads the balances by the API of the simulated network. */
export async function readNodeBalances(product: Pick<Product, 'operator'>): Promise<NodeBalances> {
  const { nodes } = await product.operator<{ nodes: readonly { alias: string; on_chain_msat: string; channel_msat: string }[] }>(
    'GET',
    '/sim/balances',
  )
  return new Map(
    nodes.map(({ alias, on_chain_msat, channel_msat }) => [alias, BigInt(on_chain_msat) + BigInt(channel_msat)] as const),
  )
}

const NODE_FUNDS_SQL = `
SELECT n.pubkey, n.alias,
  1000 * (SELECT coalesce(sum(o.value_sat), 0) FROM outputs o JOIN txs t ON t.txid = o.txid
    WHERE t.height = 1 AND o.owner = n.pubkey) AS begun_msat,
  1000 * (SELECT coalesce(sum(t.fee_sat), 0) FROM txs t
    WHERE EXISTS (SELECT 1 FROM outputs o WHERE o.spent_by = t.txid AND o.owner = n.pubkey)) AS miners_msat,
  (SELECT coalesce(sum(iif(h.receiver = n.pubkey, h.amount_msat, -h.amount_msat)), 0) FROM htlcs h
    WHERE h.state = 'settled'
      AND (h.receiver = n.pubkey AND h.is_last = 0 OR h.sender = n.pubkey AND h.payer <> n.pubkey)) AS routed_msat,
  (SELECT coalesce(sum(iif(c.a = n.pubkey, c.a_msat, c.b_msat)
      - iif(c.is_seen, 1000 * (SELECT coalesce(sum(o.value_sat), 0) FROM outputs f JOIN outputs o ON o.txid = f.spent_by
          WHERE f.txid = c.txid AND f.vout = c.vout AND o.owner = n.pubkey),
        iif(c.a = n.pubkey, 1000 * c.capacity_sat, 0))), 0)
    FROM channel_view c WHERE (c.a = n.pubkey OR c.b = n.pubkey) AND (c.is_spent OR NOT c.is_seen)) AS ended_msat
FROM nodes n`

export const readNodeFundsFrom = (rows: ReadNetworkRows): readonly NodeFunds[] => rows<NodeFunds>(NODE_FUNDS_SQL)

export const readNodeFunds = (dataDir: string): readonly NodeFunds[] => readNetwork(dataDir, readNodeFundsFrom)

/**
 * Checks that each node has its initial funds, changed by the payments and payouts that the facts show. Only the costs of
 * openings, routing and closes are read from the network.
 * @returns a sentence for each node with another balance
 */
export function checkBalances(
  orders: readonly OrderModel[],
  payments: readonly NetworkPayment[],
  nodeFunds: readonly NodeFunds[],
  balances: NodeBalances,
): readonly string[] {
  const market = nodeFunds.find(({ alias }) => alias === 'market')?.pubkey ?? ''
  return nodeFunds.flatMap(({ pubkey, alias, begun_msat, miners_msat, routed_msat, ended_msat }) => {
    const routingFeesMsat = sumMsat(
      payments.flatMap(({ payer, state, fee_msat }) => (payer === pubkey && state === 'succeeded' ? [fee_msat] : [])),
    )
    const movedMsat = sumMsat(orders.map((order) => computeMovedMsat(order, pubkey, market)))
    const expectedMsat = begun_msat - miners_msat - ended_msat + routed_msat - routingFeesMsat + movedMsat
    const balanceMsat = balances.get(alias)
    return balanceMsat === expectedMsat ? [] : [`${alias} has ${balanceMsat} msat, and should have ${expectedMsat}`]
  })
}

/** Computes the net amount in msat that an order moved to a node, by the order's facts. It is negative if the node paid. */
function computeMovedMsat(
  { settlements, payouts, payoutInvoices, destination }: OrderModel,
  pubkey: string,
  market: string,
): bigint {
  const receivedMsat = sumMsat(settlements.map((one) => BigInt(one.receivedMsat)))
  const paidInvoices = payouts.flatMap(({ paymentHash }) => payoutInvoices.get(paymentHash) ?? [])
  const amountMsat = (invoices: typeof paidInvoices) => sumMsat(invoices.map((one) => BigInt(one.amountMsat)))
  return (
    (pubkey === market ? receivedMsat - amountMsat(paidInvoices) : 0n) +
    (pubkey === destination ? -receivedMsat : 0n) +
    amountMsat(paidInvoices.filter(({ payee }) => payee === pubkey))
  )
}

const sumMsat = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n)

/** Reads the balance of the market's node in msat, on the chain and in its channels. */
export const readMarketMsat = async (product: Pick<Product, 'operator'>): Promise<bigint> =>
  (await readNodeBalances(product)).get('market') ?? 0n
