import { Fault } from '@penstock/kernel/result.ts'
import { blockHash, merkleRoot, serialiseTransaction, type Transaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import { DEPTH_ACTIVE, useWhere } from './schema.ts'
import type { Net } from './store.ts'

type BlockRow = { height: bigint; hash: string; previous_hash: string; time: bigint }
type TransactionRow = { txid: string; fee_sat: bigint; vsize: bigint }

/** What anybody may spend: blocks pay their fees to it, and nobody ever takes them. */
const MINER_SCRIPT = '51'
export const MINER = 'miner'

export type Tip = { readonly height: number; readonly hash: string; readonly previousHash: string; readonly time: number }

export function tipOf(net: Net): Tip {
  const row = net.get<BlockRow>('SELECT * FROM blocks ORDER BY height DESC LIMIT 1')
  if (!row) throw new Error('the chain has no block yet')
  return { height: Number(row.height), hash: row.hash, previousHash: row.previous_hash, time: Number(row.time) }
}

export const heightOf = (net: Net): number =>
  Number(net.get<{ height: bigint }>('SELECT max(height) AS height FROM blocks')?.height ?? 0n)

/** Takes a transaction into the mempool. @throws Fault where an input is not there or is spent already */
export function acceptTransaction(net: Net, transaction: Transaction, cost: { feeSat: bigint; vsize: number }): string {
  const txid = transactionId(transaction)
  if (net.get('SELECT 1 FROM txs WHERE txid = ?', txid)) return txid
  for (const { txid: spent, vout } of transaction.inputs) {
    const changed = net.run(
      'UPDATE outputs SET spent_by = ?, locked_by = NULL WHERE txid = ? AND vout = ? AND spent_by IS NULL',
      txid,
      spent,
      vout,
    )
    if (changed !== 1) throw new Fault(`input ${spent}:${vout} is missing or spent`)
  }
  insert(net, txid, transaction, { ...cost, isCoinbase: false })
  net.touch('mempool')
  return txid
}

/** @param only which transactions of the mempool the block takes; all unless told */
export function addBlock(net: Net, only: 'all' | 'none' = 'all', coinbase?: Transaction): void {
  const height = heightOf(net) + 1
  const previousHash = net.get<BlockRow>('SELECT * FROM blocks WHERE height = ?', height - 1)?.hash ?? '00'.repeat(32)
  const taken = only === 'all' ? worthMining(net) : []
  const feeSat = taken.reduce((sum, { fee_sat }) => sum + fee_sat, 0n)
  const reward = coinbase ?? coinbaseOf(height, feeSat, net.random(4))
  const rewardId = transactionId(reward)
  insert(net, rewardId, reward, { feeSat: 0n, vsize: 0, isCoinbase: true })
  const txids = [rewardId, ...taken.map(({ txid }) => txid)]
  txids.forEach((txid, index) => net.run('UPDATE txs SET height = ?, tx_index = ? WHERE txid = ?', height, index, txid))
  for (const txid of txids)
    net.run(
      'UPDATE channels SET closed_height = ? WHERE (txid, vout) IN (SELECT txid, vout FROM outputs WHERE spent_by = ?)',
      height,
      txid,
    )
  const time = Math.floor(net.clock.now() / 1000)
  const hash = blockHash({ previousHash, merkleRoot: merkleRoot(txids), time, nonce: Number.parseInt(net.random(4), 16) })
  net.run('INSERT INTO blocks VALUES (?, ?, ?, ?)', height, hash, previousHash, time * 1000)
  net.run(useWhere('= ?'), height - DEPTH_ACTIVE + 1)
  net.touch('tip')
}

/**
 * Takes the last blocks away; their transactions wait in the mempool again, and their rewards never were. As with lnd, all
 * graphs lose the channels of these blocks, and whoever uses one announces it to nobody once more.
 */
export function dropBlocks(net: Net, depth: number): void {
  const last = heightOf(net) - depth
  const rewards = net.all<TransactionRow>('SELECT txid, fee_sat, vsize FROM txs WHERE height > ? AND is_coinbase = 1', last)
  for (const { txid } of rewards) forget(net, txid)
  net.run('UPDATE txs SET height = NULL, tx_index = NULL WHERE height > ?', last)
  net.run('UPDATE channels SET closed_height = NULL WHERE closed_height > ?', last)
  net.run('UPDATE channels SET is_unlisted = 1 WHERE used_height > ?', last)
  net.run('DELETE FROM blocks WHERE height > ?', last)
  net.touch('tip')
}

/** Removes an unconfirmed transaction and whatever spends its outputs: it lost against another. */
export function dropTransaction(net: Net, txid: string): void {
  const spenders = net.all<{ spent_by: string }>(
    'SELECT DISTINCT spent_by FROM outputs WHERE txid = ? AND spent_by IS NOT NULL',
    txid,
  )
  for (const { spent_by } of spenders) dropTransaction(net, spent_by)
  forget(net, txid)
  net.touch('mempool')
}

function forget(net: Net, txid: string): void {
  net.run('UPDATE outputs SET spent_by = NULL WHERE spent_by = ?', txid)
  net.run('DELETE FROM outputs WHERE txid = ?', txid)
  net.run('DELETE FROM txs WHERE txid = ?', txid)
}

function insert(
  net: Net,
  txid: string,
  transaction: Transaction,
  { feeSat, vsize, isCoinbase }: { feeSat: bigint; vsize: number; isCoinbase: boolean },
): void {
  const raw = serialiseTransaction(transaction)
  net.run(
    'INSERT INTO txs (txid, raw, fee_sat, vsize, is_coinbase, entered_at) VALUES (?, ?, ?, ?, ?, ?)',
    txid,
    raw,
    feeSat,
    vsize,
    isCoinbase ? 1 : 0,
    net.clock.now(),
  )
  transaction.outputs.forEach(({ valueSat, script }, vout) => {
    const owner =
      script === MINER_SCRIPT
        ? MINER
        : (net.get<{ pubkey: string }>('SELECT pubkey FROM nodes WHERE script = ?', script)?.pubkey ?? null)
    net.run(
      'INSERT INTO outputs (txid, vout, value_sat, script, owner) VALUES (?, ?, ?, ?, ?)',
      txid,
      vout,
      valueSat,
      script,
      owner,
    )
  })
}

// A random tail keeps the id of a reward apart from that of the block that it replaced.
const coinbaseOf = (height: number, feeSat: bigint, tail: string): Transaction => ({
  inputs: [
    {
      txid: '00'.repeat(32),
      vout: 0xffff_ffff,
      script: `04${height.toString(16).padStart(8, '0')}04${tail}`,
    },
  ],
  outputs: [{ valueSat: feeSat, script: MINER_SCRIPT }],
})

/** What a block takes, in order of arrival: parents before children, and nothing below the floor unless a child pays for it. */
function worthMining(net: Net): TransactionRow[] {
  const waiting = net.all<TransactionRow>('SELECT txid, fee_sat, vsize FROM txs WHERE height IS NULL ORDER BY seq')
  const floor = feeFloor(net)
  if (floor === 0) return waiting
  const chosen = new Set<string>()
  // A child comes after its parents, so going backwards a paying child brings them along.
  for (const { txid, fee_sat, vsize } of waiting.toReversed()) {
    const parents = net.all<TransactionRow>(
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
  return waiting.filter(({ txid }) => chosen.has(txid))
}

/** Satoshis per virtual byte below which blocks take nothing now. */
export const feeFloor = (net: Net): number =>
  Number(net.get<{ value: string }>("SELECT value FROM meta WHERE key = 'fee_floor'")?.value ?? 0)
