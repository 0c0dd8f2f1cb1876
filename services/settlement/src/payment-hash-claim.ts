import type { PayhashCommand, PayhashFact } from '@penstock/contracts/settlement.ts'
import { accept, type Decider, type Refusal } from '@penstock/kernel/decider.ts'

/** The stream of one payment hash: the first order that claims the hash owns it, and each other order is refused once. */
export type PaymentHashClaim = { readonly owner: string | null; readonly refused: readonly string[] }

/** Answers every claim by a fact, so that a redelivered claim does not succeed later. */
export const paymentHashClaimDecider: Decider<PaymentHashClaim, PayhashCommand, PayhashFact, Refusal<never>> = {
  initial: { owner: null, refused: [] },
  evolve: ({ owner, refused }, { type, data }) =>
    type === 'PayhashClaimed' ? { owner: data.orderId, refused } : { owner, refused: [...refused, data.orderId] },
  decide({ owner, refused }, { data: { orderId } }) {
    if (owner === null) return accept({ type: 'PayhashClaimed', v: 1, data: { orderId } })
    return owner === orderId || refused.includes(orderId) ? accept() : accept({ type: 'PayhashRefused', v: 1, data: { orderId } })
  },
}
