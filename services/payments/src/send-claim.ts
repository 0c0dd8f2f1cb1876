import type { SendClaimCommand, SendClaimFact } from '@penstock/contracts/payments/send.ts'
import { accept, type Decider, type Refusal } from '@penstock/kernel/decider.ts'

/**
 * `owner`: the open or completed send of the payment hash. `answered`: the sends that do not have the hash, because it was
 * refused to them or because they gave it back. A repeated claim of such a send has no effect.
 */
export type SendClaim = { readonly owner: string | null; readonly answered: readonly string[] }

/** Answers each claim by a fact. A completed send keeps the hash for ever, so no other send of the wallet pays the invoice. */
export const sendClaimDecider: Decider<SendClaim, SendClaimCommand, SendClaimFact, Refusal<never>> = {
  initial: { owner: null, answered: [] },
  evolve: ({ owner, answered }, { type, data: { sendId } }) => {
    if (type === 'HashGranted') return { owner: sendId, answered }
    return { owner: type === 'HashReleased' ? null : owner, answered: [...answered, sendId] }
  },
  decide({ owner, answered }, { type, data: { sendId } }) {
    if (type === 'ReleaseHash') return owner === sendId ? accept({ type: 'HashReleased', v: 1, data: { sendId } }) : accept()
    if (owner === sendId || answered.includes(sendId)) return accept()
    if (owner === null) return accept({ type: 'HashGranted', v: 1, data: { sendId } })
    return accept({ type: 'HashRefused', v: 1, data: { sendId, ofSendId: owner } })
  },
}
