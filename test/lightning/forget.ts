import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

type RemoveTransaction = (request: { readonly txid: string }, done: (error: Error | null) => void) => void

/**
 * A wallet forgets an unconfirmed transaction of its own, as it does when a mempool rejects it at a start of lnd. Other
 * mempools keep it.
 */
export function forgetIn({ lnd }: LndNode, outpoint: string): Promise<void> {
  // `lightning` leaves lnd's own calls untyped (walletkit.proto: RemoveTransaction).
  const service = lnd.wallet as { removeTransaction: RemoveTransaction }
  const txid = outpoint.split(':')[0] ?? ''
  return new Promise((resolve, reject) => service.removeTransaction({ txid }, (error) => (error ? reject(error) : resolve())))
}
