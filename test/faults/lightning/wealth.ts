import { readTransaction } from '@penstock/bitcoin/raw.ts'
import type { Network } from '@penstock/cluster/regtest/network.ts'
import type { Person } from '@penstock/cluster/regtest/person.ts'
import {
  type ChainTransaction,
  getChainTransactions,
  getChannels,
  getClosedChannels,
  getForwards,
  getPendingChannels,
} from 'lightning'
import type { Balances, Wealth } from '../balances.ts'

/** What a node has, and what has left it for good besides payments, since its first block. */
type Standing = {
  readonly alias: string
  readonly pubkey: string
  /** In its wallet and on its side of its channels. */
  readonly hasMsat: bigint
  readonly minersMsat: bigint
  /** What it earned by forwarding for others. */
  readonly routedMsat: bigint
}

export type Standings = readonly Standing[]

/** So many forwards are told at once; nobody forwards anything here but in a fault. */
const FORWARDS = 1000

export const standingsOf = (network: Network): Promise<Standings> =>
  Promise.all(network.people.map((person) => standingOf(network, person)))

async function standingOf(network: Network, { alias, node: { lnd }, info: { pubkey } }: Person): Promise<Standing> {
  const listed = (await getChainTransactions({ lnd })).transactions
  // lnd lists some twice that a re-org moved.
  const transactions = [...new Map(listed.map((one) => [one.id, one])).values()]
  // By transactions and not by coins, of which lnd leaves out those that it has locked.
  const walletSat = sum(transactions.map(({ tokens, is_outgoing }) => BigInt(is_outgoing ? -tokens : tokens)))
  const paid = [...transactions.filter(({ is_outgoing }) => is_outgoing).map(({ id }) => id), ...(await closesOf(lnd))]
  const fees = await Promise.all([...new Set(paid)].map((id) => feeSat(network, { id })))
  const { forwards } = await getForwards({ lnd, limit: FORWARDS })
  return {
    alias,
    pubkey,
    hasMsat: 1000n * (walletSat + (await channelsSat(lnd, new Set(transactions.map(({ id }) => id))))),
    minersMsat: 1000n * sum(fees),
    routedMsat: sum(forwards.map(({ fee_mtokens }) => BigInt(fee_mtokens))),
  }
}

/**
 * The node's side of its channels. Whoever opened one has all of it that is not the other side's: what its commitment costs
 * changes with what is in it, and comes back when it is closed. lnd tells whole satoshis, and prices and payouts are such;
 * a way that cost a fraction would show here as a fault.
 * @param known transactions of its wallet: a funding that was prepared and never published is none of them
 */
async function channelsSat(lnd: Person['node']['lnd'], known: ReadonlySet<string>): Promise<bigint> {
  const [{ channels }, { pending_channels }] = await Promise.all([getChannels({ lnd }), getPendingChannels({ lnd })])
  const pending = pending_channels.filter((channel) => channel.is_opening && known.has(channel.transaction_id))
  return sum(
    [...channels, ...pending].map(({ capacity, local_balance, remote_balance, is_partner_initiated }) =>
      BigInt(is_partner_initiated ? local_balance : capacity - remote_balance),
    ),
  )
}

/** What ended the channels that the node opened: their fees are its own. */
async function closesOf(lnd: Person['node']['lnd']): Promise<readonly string[]> {
  const [{ channels }, { pending_channels }] = await Promise.all([getClosedChannels({ lnd }), getPendingChannels({ lnd })])
  return [...channels, ...pending_channels.filter(({ is_closing }) => is_closing)].flatMap(
    ({ close_transaction_id: id, is_partner_initiated }) => (id !== undefined && is_partner_initiated !== true ? [id] : []),
  )
}

/** What a transaction of a wallet's own coins, or of its channel, gave to the miners, by the chain. @throws where the chain does not know it */
async function feeSat({ servers: { chain } }: Network, { id }: Pick<ChainTransaction, 'id'>): Promise<bigint> {
  const read = async (txid: string) => readTransaction(await chain.rpc<string>('getrawtransaction', txid, 0))
  const { inputs, outputs } = await read(id)
  const spent = await Promise.all(inputs.map(async ({ txid, vout }) => (await read(txid)).outputs[vout]?.valueSat ?? 0n))
  return sum(spent) - sum(outputs.map(({ valueSat }) => valueSat))
}

/** As `balanceFaults` wants it; the agent closes the channels of orders that failed, by agreement. */
export const wealthSince = (before: Standings, now: Standings): readonly Wealth[] =>
  before.map(({ alias, pubkey, hasMsat, minersMsat, routedMsat }) => {
    const later = now.find((one) => one.pubkey === pubkey)
    return {
      alias,
      pubkey,
      begun_msat: hasMsat,
      miners_msat: (later?.minersMsat ?? 0n) - minersMsat,
      routed_msat: (later?.routedMsat ?? 0n) - routedMsat,
      ended_msat: 0n,
    }
  })

export const balancesOf = (standings: Standings): Balances => new Map(standings.map(({ alias, hasMsat }) => [alias, hasMsat]))

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n)
