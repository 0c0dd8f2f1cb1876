import { createHash, createHmac } from 'node:crypto'
import { isProvenDecision } from '@penstock/config/decision-proof.ts'
import { isProvenRefund } from '@penstock/config/refund-proof.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'

/** The operator of the simulation proves its decisions by this key. */
export const SIMULATED_DECISION_KEY = '0d'.repeat(32)

/** Creates a keyring that derives all preimages from one key, which is drawn from the seed. */
export function createSeededKeyring(key: Uint8Array): Keyring {
  const preimageOf = (keyId: string, orderId: string, issue: number): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([keyId, orderId, issue]))
      .digest('hex')
  return {
    preimageOf,
    isProven: (decision, proof) => isProvenDecision([SIMULATED_DECISION_KEY], decision, proof),
    isProvenRefund: (refund, proof) => isProvenRefund([preimageOf('simulated', refund.orderId, 1)], refund, proof),
    paymentHashOf: (orderId, issue) => ({
      keyId: 'simulated',
      paymentHash: createHash('sha256')
        .update(Buffer.from(preimageOf('simulated', orderId, issue), 'hex'))
        .digest('hex'),
    }),
  }
}
