import type { PayhashCommand, PayhashFact } from '@penstock/contracts/settlement.ts'
import { accept, type Decider, type Refusal } from '@penstock/kernel/decider.ts'

/** The stream of one payment hash: the first order that claims it has it, the others are told so, each once. */
export type Payhash = { readonly owner: string | null; readonly refused: readonly string[] }

/** Every answer is a fact: who asks is a process, and a redelivery must not succeed tomorrow. */
export const payhash: Decider<Payhash, PayhashCommand, PayhashFact, Refusal<never>> = {
  initial: { owner: null, refused: [] },
  evolve: ({ owner, refused }, { type, data }) =>
    type === 'PayhashClaimed' ? { owner: data.orderId, refused } : { owner, refused: [...refused, data.orderId] },
  decide({ owner, refused }, { data: { orderId } }) {
    if (owner === null) return accept({ type: 'PayhashClaimed', v: 1, data: { orderId } })
    return owner === orderId || refused.includes(orderId) ? accept() : accept({ type: 'PayhashRefused', v: 1, data: { orderId } })
  },
}
