import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

type RemoveTransaction = (request: { readonly txid: string }, callback: (error: Error | null) => void) => void

/**
 * Removes an unconfirmed transaction from a node's wallet, as lnd does at its start if the mempool rejects the transaction.
 * Other mempools still contain it.
 */
export function removeTransaction({ lnd }: LndNode, outpoint: string): Promise<void> {
  // `lightning` has no types for lnd's own calls (walletkit.proto: RemoveTransaction).
  const service = lnd.wallet as { removeTransaction: RemoveTransaction }
  const txid = outpoint.split(':')[0] ?? ''
  return new Promise((resolve, reject) => service.removeTransaction({ txid }, (error) => (error ? reject(error) : resolve())))
}
