import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Chain, ChainTip, ChainOutput } from '@penstock/ports/chain.ts'
import { readFeeFloor, readChainTip } from './chain.ts'
import type { SimnetStore } from './store.ts'

type OutputRow = {
  value_sat: bigint
  script: string
  height: bigint | null
  tx_index: bigint | null
  spent_by: string | null
  spent_height: bigint | null
}

/** The chain as a node with a transaction index and a mempool reports it. */
export function createChainPort(store: SimnetStore): Chain {
  // As a real source, this one has only the times of its own lookups once a block has the transaction.
  const firstSeenAt = new Map<string, number>()
  return {
    sees: { mempool: true },
    tip: async () => ({ ...readChainTip(store), synced: true }),
    async output(outpoint) {
      const output = findOutput(store, outpoint)
      const txid = parseOutpoint(outpoint)?.txid
      if (txid !== undefined && output?.height === null && !firstSeenAt.has(txid)) firstSeenAt.set(txid, store.clock.now())
      return output
    },
    enteredMempoolAt: async (outpoint) =>
      findMempoolEntryTime(store, outpoint) ?? firstSeenAt.get(parseOutpoint(outpoint)?.txid ?? '') ?? null,
    tips: (signal) => watchTips(store, signal),
    feeRate: async (targetBlocks) => Math.max(1, readFeeFloor(store)) * (targetBlocks <= 2 ? 2 : 1),
  }
}

function findOutput(store: SimnetStore, text: string): ChainOutput | undefined {
  const outpoint = parseOutpoint(text)
  const row =
    outpoint &&
    store.get<OutputRow>(
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

/** The time while the transaction is in the mempool; a block makes the node forget it, as bitcoind does. */
function findMempoolEntryTime(store: SimnetStore, text: string): number | null {
  const txid = parseOutpoint(text)?.txid
  const row =
    txid && store.get<{ entered_at: bigint | null }>('SELECT entered_at FROM txs WHERE txid = ? AND height IS NULL', txid)
  return row ? toNumber(row.entered_at) : null
}

function watchTips(store: SimnetStore, signal: AbortSignal): AsyncGenerator<ChainTip> {
  let last = ''
  return store.watch('tip', signal, () => {
    const tip = readChainTip(store)
    if (tip.hash === last) return undefined
    last = tip.hash
    return { ...tip, synced: true }
  })
}

const toNumber = (value: bigint | null): number | null => (value === null ? null : Number(value))
