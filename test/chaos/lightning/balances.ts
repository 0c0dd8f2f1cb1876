import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import type { RegtestNetwork } from '@penstock/cluster/regtest/network.ts'
import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import {
  type ChainTransaction,
  getChainTransactions,
  getChannels,
  getClosedChannels,
  getForwards,
  getPendingChannels,
} from 'lightning'
import type { NodeBalances, NodeFunds } from '../../support/invariants/balances.ts'

/** A node's balance, and the total amounts other than payments that have changed it. */
type LndBalance = {
  readonly alias: string
  readonly pubkey: string
  /** The amount in the node's wallet and on its side of its channels. */
  readonly balanceMsat: bigint
  /** The fees of transactions that the node paid to miners. */
  readonly minersMsat: bigint
  /** The routing fees that the node earned. */
  readonly routedMsat: bigint
}

export type LndBalances = readonly LndBalance[]

/** The limit of one query for forwarded payments. In this network nodes forward payments only if something is wrong. */
const FORWARDS_LIMIT = 1000

export const readLndBalances = (network: RegtestNetwork): Promise<LndBalances> =>
  Promise.all(network.nodes.map((node) => readLndBalance(network, node)))

async function readLndBalance(
  network: RegtestNetwork,
  { alias, lnd: { lnd }, info: { pubkey } }: RegtestNode,
): Promise<LndBalance> {
  const listed = (await getChainTransactions({ lnd })).transactions
  // After a re-organisation lnd lists some transactions twice.
  const transactions = [...new Map(listed.map((one) => [one.id, one])).values()]
  // The wallet's balance is summed from transactions, because lnd omits locked coins from its list of coins.
  const walletSat = sumAmounts(transactions.map(({ tokens, is_outgoing }) => BigInt(is_outgoing ? -tokens : tokens)))
  const ids = new Set(transactions.map(({ id }) => id))
  const closes = await listCloses(lnd)
  const feePayingIds = [
    ...transactions.filter(({ is_outgoing }) => is_outgoing).map(({ id }) => id),
    ...closes.filter(({ isOurs }) => isOurs).map(({ id }) => id),
  ]
  const fees = await Promise.all([...new Set(feePayingIds)].map((id) => readFeeSat(network, { id })))
  // A wallet that was offline during a re-organisation may never list a close. The amount of such a close is added here.
  const unlistedSat = sumAmounts(closes.filter(({ id, isOurs }) => isOurs && !ids.has(id)).map(({ toUsSat }) => toUsSat))
  const { forwards } = await getForwards({ lnd, limit: FORWARDS_LIMIT })
  return {
    alias,
    pubkey,
    balanceMsat: 1000n * (walletSat + unlistedSat + (await readChannelsSat(lnd, ids))),
    minersMsat: 1000n * sumAmounts(fees),
    routedMsat: sumAmounts(forwards.map(({ fee_mtokens }) => BigInt(fee_mtokens))),
  }
}

/**
 * Reads the amount on the node's side of its channels, in satoshis. The commitment fee belongs to the opener until the close, but
 * lnd's balance omits it. So an opener's amount is the capacity minus the other side's amount. Whole satoshis suffice, because
 * prices and payouts are whole.
 * @param knownIds transactions of the node's wallet, without fundings that were prepared and never published
 */
async function readChannelsSat(lnd: RegtestNode['lnd']['lnd'], knownIds: ReadonlySet<string>): Promise<bigint> {
  const [{ channels }, { pending_channels }] = await Promise.all([getChannels({ lnd }), getPendingChannels({ lnd })])
  const pending = pending_channels.filter((channel) => channel.is_opening && knownIds.has(channel.transaction_id))
  return sumAmounts(
    [...channels, ...pending].map(({ capacity, local_balance, remote_balance, is_partner_initiated }) =>
      BigInt(is_partner_initiated ? local_balance : capacity - remote_balance),
    ),
  )
}

/** The close of a channel. `isOurs`: the node opened it and pays the fee. `toUsSat`: the node's amount, 0 while pending. */
type ChannelClose = { readonly id: string; readonly isOurs: boolean; readonly toUsSat: bigint }

async function listCloses(lnd: RegtestNode['lnd']['lnd']): Promise<readonly ChannelClose[]> {
  const [{ channels }, { pending_channels }] = await Promise.all([getClosedChannels({ lnd }), getPendingChannels({ lnd })])
  const closed = channels.map((one) => ({ ...one, toUsSat: BigInt(one.final_local_balance) }))
  const closing = pending_channels.filter(({ is_closing }) => is_closing).map((one) => ({ ...one, toUsSat: 0n }))
  return [...closed, ...closing].flatMap(({ close_transaction_id: id, is_partner_initiated, toUsSat }) =>
    id === undefined ? [] : [{ id, isOurs: is_partner_initiated !== true, toUsSat }],
  )
}

/**
 * Computes the fee of a transaction in satoshis from the chain, as the inputs minus the outputs.
 * @throws Error if the chain does not know the transaction
 */
async function readFeeSat({ servers: { chain } }: RegtestNetwork, { id }: Pick<ChainTransaction, 'id'>): Promise<bigint> {
  const readTransactionById = async (txid: string) => readTransaction(await chain.rpc<string>('getrawtransaction', txid, 0))
  const { inputs, outputs } = await readTransactionById(id)
  const spent = await Promise.all(
    inputs.map(async ({ txid, vout }) => (await readTransactionById(txid)).outputs[vout]?.valueSat ?? 0n),
  )
  return sumAmounts(spent) - sumAmounts(outputs.map(({ valueSat }) => valueSat))
}

/** Computes the changes of the nodes' balances other than payments, for `checkBalances`. */
export const computeFundsSince = (earlier: LndBalances, current: LndBalances): readonly NodeFunds[] =>
  earlier.map(({ alias, pubkey, balanceMsat, minersMsat, routedMsat }) => {
    const currentBalance = current.find((one) => one.pubkey === pubkey)
    return {
      alias,
      pubkey,
      begun_msat: balanceMsat,
      miners_msat: (currentBalance?.minersMsat ?? 0n) - minersMsat,
      routed_msat: (currentBalance?.routedMsat ?? 0n) - routedMsat,
      ended_msat: 0n,
    }
  })

export const toNodeBalances = (balances: LndBalances): NodeBalances =>
  new Map(balances.map(({ alias, balanceMsat }) => [alias, balanceMsat]))

const sumAmounts = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n)
