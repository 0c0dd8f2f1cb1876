import { Fault } from '@penstock/kernel/result.ts'
import { blockHash, merkleRoot, serialiseTransaction, type Transaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import { ACTIVE_AT_DEPTH, activateChannelsSql } from './schema.ts'
import type { SimnetStore } from './store.ts'

type BlockRow = { height: bigint; hash: string; previous_hash: string; time: bigint }
type TransactionRow = { txid: string; fee_sat: bigint; vsize: bigint }

/** A script that anyone may spend. Blocks pay their fees to it, and no transaction spends it. */
const MINER_SCRIPT = '51'
export const MINER = 'miner'

export type TipBlock = { readonly height: number; readonly hash: string; readonly previousHash: string; readonly time: number }

export function readChainTip(store: SimnetStore): TipBlock {
  const row = store.get<BlockRow>('SELECT * FROM blocks ORDER BY height DESC LIMIT 1')
  if (!row) throw new Error('the chain has no block yet')
  return { height: Number(row.height), hash: row.hash, previousHash: row.previous_hash, time: Number(row.time) }
}

export const readHeight = (store: SimnetStore): number =>
  Number(store.get<{ height: bigint }>('SELECT max(height) AS height FROM blocks')?.height ?? 0n)

/** Adds a transaction to the mempool. @throws Fault if an input is missing or already spent */
export function acceptTransaction(store: SimnetStore, transaction: Transaction, cost: { feeSat: bigint; vsize: number }): string {
  const txid = transactionId(transaction)
  if (store.get('SELECT 1 FROM txs WHERE txid = ?', txid)) return txid
  for (const { txid: spent, vout } of transaction.inputs) {
    const changed = store.run(
      'UPDATE outputs SET spent_by = ?, locked_by = NULL WHERE txid = ? AND vout = ? AND spent_by IS NULL',
      txid,
      spent,
      vout,
    )
    if (changed !== 1) throw new Fault(`input ${spent}:${vout} is missing or spent`)
  }
  insertTransaction(store, txid, transaction, { ...cost, isCoinbase: false })
  store.notify('mempool')
  return txid
}

/** @param included the transactions of the mempool that the block includes */
export function addBlock(store: SimnetStore, included: 'all' | 'none' = 'all', coinbase?: Transaction): void {
  const height = readHeight(store) + 1
  const previousHash = store.get<BlockRow>('SELECT * FROM blocks WHERE height = ?', height - 1)?.hash ?? '00'.repeat(32)
  const selected = included === 'all' ? selectForBlock(store) : []
  const feeSat = selected.reduce((sum, { fee_sat }) => sum + fee_sat, 0n)
  const reward = coinbase ?? buildCoinbase(height, feeSat, store.random(4))
  const rewardId = transactionId(reward)
  insertTransaction(store, rewardId, reward, { feeSat: 0n, vsize: 0, isCoinbase: true })
  const txids = [rewardId, ...selected.map(({ txid }) => txid)]
  txids.forEach((txid, index) => store.run('UPDATE txs SET height = ?, tx_index = ? WHERE txid = ?', height, index, txid))
  for (const txid of txids)
    store.run(
      'UPDATE channels SET closed_height = ? WHERE (txid, vout) IN (SELECT txid, vout FROM outputs WHERE spent_by = ?)',
      height,
      txid,
    )
  const time = Math.floor(store.clock.now() / 1000)
  const hash = blockHash({ previousHash, merkleRoot: merkleRoot(txids), time, nonce: Number.parseInt(store.random(4), 16) })
  store.run('INSERT INTO blocks VALUES (?, ?, ?, ?)', height, hash, previousHash, time * 1000)
  store.run(activateChannelsSql('= ?'), height - ACTIVE_AT_DEPTH + 1)
  store.notify('tip')
}

/**
 * Removes the last blocks. Their transactions return to the mempool, and their coinbases are deleted. As with lnd, all graphs
 * lose the channels that became active in these blocks, and their nodes do not announce them again.
 */
export function dropBlocks(store: SimnetStore, depth: number): void {
  const last = readHeight(store) - depth
  const rewards = store.all<TransactionRow>('SELECT txid, fee_sat, vsize FROM txs WHERE height > ? AND is_coinbase = 1', last)
  for (const { txid } of rewards) deleteTransaction(store, txid)
  store.run('UPDATE txs SET height = NULL, tx_index = NULL WHERE height > ?', last)
  store.run('UPDATE channels SET closed_height = NULL WHERE closed_height > ?', last)
  store.run('UPDATE channels SET is_unlisted = 1 WHERE used_height > ?', last)
  store.run('DELETE FROM blocks WHERE height > ?', last)
  store.notify('tip')
}

/** Removes an unconfirmed transaction after a double-spend, and all transactions that spend its outputs. */
export function dropTransaction(store: SimnetStore, txid: string): void {
  const spenders = store.all<{ spent_by: string }>(
    'SELECT DISTINCT spent_by FROM outputs WHERE txid = ? AND spent_by IS NOT NULL',
    txid,
  )
  for (const { spent_by } of spenders) dropTransaction(store, spent_by)
  deleteTransaction(store, txid)
  store.notify('mempool')
}

function deleteTransaction(store: SimnetStore, txid: string): void {
  store.run('UPDATE outputs SET spent_by = NULL WHERE spent_by = ?', txid)
  store.run('DELETE FROM outputs WHERE txid = ?', txid)
  store.run('DELETE FROM txs WHERE txid = ?', txid)
}

function insertTransaction(
  store: SimnetStore,
  txid: string,
  transaction: Transaction,
  { feeSat, vsize, isCoinbase }: { feeSat: bigint; vsize: number; isCoinbase: boolean },
): void {
  const raw = serialiseTransaction(transaction)
  store.run(
    'INSERT INTO txs (txid, raw, fee_sat, vsize, is_coinbase, entered_at) VALUES (?, ?, ?, ?, ?, ?)',
    txid,
    raw,
    feeSat,
    vsize,
    isCoinbase ? 1 : 0,
    store.clock.now(),
  )
  transaction.outputs.forEach(({ valueSat, script }, vout) => {
    const owner =
      script === MINER_SCRIPT
        ? MINER
        : (store.get<{ pubkey: string }>('SELECT pubkey FROM nodes WHERE script = ?', script)?.pubkey ?? null)
    store.run(
      'INSERT INTO outputs (txid, vout, value_sat, script, owner) VALUES (?, ?, ?, ?, ?)',
      txid,
      vout,
      valueSat,
      script,
      owner,
    )
  })
}

// A random tail gives the coinbase another id than the coinbase of the block that it replaced.
const buildCoinbase = (height: number, feeSat: bigint, tail: string): Transaction => ({
  inputs: [
    {
      txid: '00'.repeat(32),
      vout: 0xffff_ffff,
      script: `04${height.toString(16).padStart(8, '0')}04${tail}`,
    },
  ],
  outputs: [{ valueSat: feeSat, script: MINER_SCRIPT }],
})

/**
 * Selects transactions for a block in order of arrival, parents before children. A transaction below the fee floor needs a child
 * that pays for it.
 */
function selectForBlock(store: SimnetStore): TransactionRow[] {
  const pending = store.all<TransactionRow>('SELECT txid, fee_sat, vsize FROM txs WHERE height IS NULL ORDER BY seq')
  const floor = readFeeFloor(store)
  if (floor === 0) return pending
  const chosen = new Set<string>()
  // A child follows its parents, so in reverse order a child that pays enough selects its parents too.
  for (const { txid, fee_sat, vsize } of pending.toReversed()) {
    const parents = store.all<TransactionRow>(
      'SELECT DISTINCT t.txid, t.fee_sat, t.vsize FROM outputs o JOIN txs t ON t.txid = o.txid WHERE o.spent_by = ? AND t.height IS NULL',
      txid,
    )
    const family = [{ fee_sat, vsize }, ...parents]
    const total = family.reduce((sum, member) => ({ fee: sum.fee + member.fee_sat, size: sum.size + member.vsize }), {
      fee: 0n,
      size: 0n,
    })
    if (!chosen.has(txid) && total.fee < BigInt(floor) * total.size) continue
    for (const member of [txid, ...parents.map((parent) => parent.txid)]) chosen.add(member)
  }
  return pending.filter(({ txid }) => chosen.has(txid))
}

/** The current fee floor of blocks, in sat per virtual byte. */
export const readFeeFloor = (store: SimnetStore): number =>
  Number(store.get<{ value: string }>("SELECT value FROM meta WHERE key = 'fee_floor'")?.value ?? 0)
