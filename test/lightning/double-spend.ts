import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { createChainAddress, fundPsbt, getUtxos, signPsbt, unlockUtxo } from 'lightning'

type DoubleSpendTransaction = {
  /** The coin as `txid:vout`. The node does not lock it. */
  readonly coin: string
  /** The unpublished transaction in hex, which pays the coin back to its owner. */
  readonly transaction: string
}

/** Chooses a coin of a node, and signs a transaction that spends the coin. It does not publish the transaction. */
export async function createDoubleSpend({ lnd }: LndNode): Promise<DoubleSpendTransaction> {
  const [coin] = (await getUtxos({ lnd, min_confirmations: 1 })).utxos
  if (!coin) throw new Error('the node has no coin')
  const { transaction_id, transaction_vout, tokens } = coin
  const { address } = await createChainAddress({ lnd, format: 'p2wpkh' })
  const { psbt, inputs } = await fundPsbt({
    lnd,
    inputs: [{ transaction_id, transaction_vout }],
    outputs: [{ address, tokens: tokens - 10_000 }],
    fee_tokens_per_vbyte: 20,
  })
  const { transaction } = await signPsbt({ lnd, psbt })
  for (const { lock_id: id = '', ...outpoint } of inputs) await unlockUtxo({ lnd, id, ...outpoint })
  return { coin: `${transaction_id}:${transaction_vout}`, transaction }
}
