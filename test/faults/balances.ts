import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Product } from '../harness/product.ts'
import type { Book } from './books.ts'
import type { Payment, Rows } from './truth.ts'

/** A simulated node, and what has become of its coins besides payments, from the first block on. */
export type Wealth = {
  readonly pubkey: string
  readonly alias: string
  /** Its coins in the first block. */
  readonly begun_msat: bigint
  /** Of its own transactions, whether in a block or waiting for one: those that opened its channels. */
  readonly miners_msat: bigint
  /** What it forwarded for others left it, for good. */
  readonly routed_msat: bigint
  /**
   * What its side of ended channels had beyond what the chain gave for it: the fee and the fractions of a satoshi of a
   * closing, and all that had moved in a channel whose funding was lost.
   */
  readonly ended_msat: bigint
}

/** What a node says that it has, by its alias. */
export type Balances = ReadonlyMap<string, bigint>

/** All that each node has, on the chain and in its channels. */
export async function balancesOf(product: Pick<Product, 'operator'>): Promise<Balances> {
  const { nodes } = await product.operator<{ nodes: readonly { alias: string; on_chain_msat: string; channel_msat: string }[] }>(
    'GET',
    '/sim/balances',
  )
  return new Map(
    nodes.map(({ alias, on_chain_msat, channel_msat }) => [alias, BigInt(on_chain_msat) + BigInt(channel_msat)] as const),
  )
}

const WEALTH = `
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

export const wealthFrom = (rows: Rows): readonly Wealth[] => rows<Wealth>(WEALTH)

export function wealthOf(dataDir: string): readonly Wealth[] {
  const db = new DatabaseSync(join(dataDir, 'simnet.db'), { readOnly: true })
  try {
    const statement = db.prepare(WEALTH)
    statement.setReadBigInts(true)
    return statement.all() as readonly unknown[] as readonly Wealth[] // the columns that are named above
  } finally {
    db.close()
  }
}

/**
 * Each node has what it began with, less what buyers paid and more what sellers were paid by the facts, whatever anybody's
 * list of payments says; only what openings, ways and closings cost is the network's own figure.
 * @returns a sentence for each node that has another balance
 */
export function balanceFaults(
  books: readonly Book[],
  payments: readonly Payment[],
  wealth: readonly Wealth[],
  balances: Balances,
): readonly string[] {
  const market = wealth.find(({ alias }) => alias === 'market')?.pubkey ?? ''
  return wealth.flatMap(({ pubkey, alias, begun_msat, miners_msat, routed_msat, ended_msat }) => {
    const waysMsat = sum(
      payments.flatMap(({ payer, state, fee_msat }) => (payer === pubkey && state === 'succeeded' ? [fee_msat] : [])),
    )
    const movedMsat = sum(books.map((book) => movedFor(book, pubkey, market)))
    const dueMsat = begun_msat - miners_msat - ended_msat + routed_msat - waysMsat + movedMsat
    const hasMsat = balances.get(alias)
    return hasMsat === dueMsat ? [] : [`${alias} has ${hasMsat} msat, and should have ${dueMsat}`]
  })
}

/** What an order moved to or from a node, by its facts. */
function movedFor({ settled, paid, offered, destination }: Book, pubkey: string, market: string): bigint {
  const receivedMsat = sum(settled.map((one) => BigInt(one.receivedMsat)))
  const payouts = paid.flatMap(({ paymentHash }) => offered.get(paymentHash) ?? [])
  const amountMsat = (of: typeof payouts) => sum(of.map((one) => BigInt(one.amountMsat)))
  return (
    (pubkey === market ? receivedMsat - amountMsat(payouts) : 0n) +
    (pubkey === destination ? -receivedMsat : 0n) +
    amountMsat(payouts.filter(({ payee }) => payee === pubkey))
  )
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n)
