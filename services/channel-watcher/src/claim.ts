import type { OutpointClaimCommand, OutpointClaimFact } from '@penstock/contracts/channel.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'

type Attempt = { readonly orderId: string; readonly attempt: number }

/** One channel serves one order: the first attempt that claims an outpoint gets it. Every other attempt is refused once. */
export type OutpointClaim = { readonly owner: Attempt | null; readonly refused: readonly Attempt[] }

const isSame = (one: Attempt | null, other: Attempt): boolean => one?.orderId === other.orderId && one.attempt === other.attempt

export const outpointClaimDecider: Decider<OutpointClaim, OutpointClaimCommand, OutpointClaimFact> = {
  initial: { owner: null, refused: [] },
  evolve: (claim, { type, data }) =>
    type === 'OutpointClaimed' ? { ...claim, owner: data } : { ...claim, refused: [...claim.refused, data] },
  decide: ({ owner, refused }, { data }) => {
    if (isSame(owner, data) || refused.some((attempt) => isSame(attempt, data))) return accept()
    return accept({ type: owner ? 'OutpointClaimRefused' : 'OutpointClaimed', v: 1, data })
  },
}
