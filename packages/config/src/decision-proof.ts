import { createHmac, timingSafeEqual } from 'node:crypto'

/** An operator's decision over a payout. */
export type ProvenDecision = { readonly orderId: string; readonly to: string; readonly by: string; readonly reason: string }

/** Derives the key of operators' decisions from a key of the keyring, which only settlement and the operator have. Both are hex. */
export const deriveDecisionKey = (keyringKey: string): string =>
  createHmac('sha256', Buffer.from(keyringKey, 'hex')).update('penstock/decision-key/v1').digest('hex')

/** @returns the proof of a decision in hex, which the gateway cannot make */
export const proveDecision = (decisionKey: string, { orderId, to, by, reason }: ProvenDecision): string =>
  createHmac('sha256', Buffer.from(decisionKey, 'hex'))
    // A JSON array keeps the parts separate, whatever characters they contain.
    .update(JSON.stringify(['penstock/decision/v1', orderId, to, by, reason]))
    .digest('hex')

/** Whether one of these keys of the keyring proves the decision. */
export function isProvenDecision(keyringKeys: readonly string[], decision: ProvenDecision, proof: string): boolean {
  return keyringKeys.some((key) => isSameProof(proveDecision(deriveDecisionKey(key), decision), proof))
}

/** Compares two proofs in hex, in constant time. */
export function isSameProof(expectedHex: string, givenHex: string): boolean {
  const [expected, given] = [Buffer.from(expectedHex, 'hex'), Buffer.from(givenHex, 'hex')]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
