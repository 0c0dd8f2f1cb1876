import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { createChainAddress, fundPsbt, getUtxos, signPsbt, unlockUtxo } from 'lightning'

type DoubleSpend = {
  /** As `txid:vout`: free for whatever else spends it. */
  readonly coin: string
  /** Pays the coin back to its owner. In hex; nobody has seen it. */
  readonly transaction: string
}

/** One of a node's coins, and a transaction up the sleeve that spends it. */
export async function doubleSpend({ lnd }: LndNode): Promise<DoubleSpend> {
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
  for (const { lock_id: id = '', ...locked } of inputs) await unlockUtxo({ lnd, id, ...locked })
  return { coin: `${transaction_id}:${transaction_vout}`, transaction }
}
