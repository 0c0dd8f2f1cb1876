import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Chain, ChainTip, Output } from '@penstock/ports/chain.ts'
import { feeFloor, tipOf } from './chain.ts'
import type { Net } from './store.ts'

type OutputRow = {
  value_sat: bigint
  script: string
  height: bigint | null
  tx_index: bigint | null
  spent_by: string | null
  spent_height: bigint | null
}

/** The chain as a node with an index and a mempool sees it. */
export function chainOf(net: Net): Chain {
  return {
    sees: { mempool: true },
    tip: async () => ({ ...tipOf(net), synced: true }),
    output: async (outpoint) => findOutput(net, outpoint),
    enteredMempoolAt: async (outpoint) => enteredAt(net, outpoint),
    tips: (signal) => tips(net, signal),
    feeRate: async (targetBlocks) => Math.max(1, feeFloor(net)) * (targetBlocks <= 2 ? 2 : 1),
  }
}

function findOutput(net: Net, text: string): Output | undefined {
  const outpoint = parseOutpoint(text)
  const row =
    outpoint &&
    net.get<OutputRow>(
      `SELECT o.value_sat, o.script, t.height, t.tx_index, o.spent_by, s.height AS spent_height
     FROM outputs o JOIN txs t ON t.txid = o.txid LEFT JOIN txs s ON s.txid = o.spent_by WHERE o.txid = ? AND o.vout = ?`,
      outpoint.txid,
      outpoint.vout,
    )
  return (
    row && {
      outpoint: `${outpoint.txid}:${outpoint.vout}`,
      valueSat: row.value_sat,
      script: row.script,
      height: toNumber(row.height),
      txIndex: toNumber(row.tx_index),
      spentBy: row.spent_by === null ? null : { txid: row.spent_by, height: toNumber(row.spent_height) },
    }
  )
}

function enteredAt(net: Net, text: string): number | null {
  const txid = parseOutpoint(text)?.txid
  const row = txid && net.get<{ entered_at: bigint | null }>('SELECT entered_at FROM txs WHERE txid = ?', txid)
  return row ? toNumber(row.entered_at) : null
}

function tips(net: Net, signal: AbortSignal): AsyncGenerator<ChainTip> {
  let last = ''
  return net.watch('tip', signal, () => {
    const tip = tipOf(net)
    if (tip.hash === last) return undefined
    last = tip.hash
    return { ...tip, synced: true }
  })
}

const toNumber = (value: bigint | null): number | null => (value === null ? null : Number(value))
