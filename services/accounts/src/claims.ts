import type { EmailClaimCommand, EmailClaimFact, NodeClaimCommand, NodeClaimFact } from '@penstock/contracts/accounts.ts'
import { accept, type Decider, refuse, type Refusal } from '@penstock/kernel/decider.ts'

/** Whose an e-mail address or a node is: whoever came first. */
export type Claim = { readonly accountId: string | null }

const unclaimed: Claim = { accountId: null }

type EmailRefusal = Refusal<'ACCOUNT_REFUSED'>

/** Said of a taken address and of a weak password alike, so that nobody can find out who has an account. */
const accountRefused =
  'The account cannot be created: use an e-mail address that has none yet, and a password of at least 12 characters.'

export const emailClaimDecider: Decider<Claim, EmailClaimCommand, EmailClaimFact, EmailRefusal> = {
  initial: unclaimed,
  evolve: (_, { data }) => ({ accountId: data.accountId }),
  decide: ({ accountId }, { data }) => {
    if (accountId === data.accountId) return accept()
    return accountId === null ? accept({ type: 'EmailClaimed', v: 1, data }) : refuse('ACCOUNT_REFUSED', accountRefused)
  },
}

/** `refused`: accounts that have been told so; what a process asks is answered by a fact, once. */
export type NodeClaim = Claim & { readonly refused: readonly string[] }

export const nodeClaimDecider: Decider<NodeClaim, NodeClaimCommand, NodeClaimFact> = {
  initial: { ...unclaimed, refused: [] },
  evolve: (claim, { type, data }) =>
    type === 'NodeClaimed' ? { ...claim, accountId: data.accountId } : { ...claim, refused: [...claim.refused, data.accountId] },
  decide: ({ accountId, refused }, { data }) => {
    if (accountId === data.accountId || refused.includes(data.accountId)) return accept()
    return accept({ type: accountId === null ? 'NodeClaimed' : 'NodeClaimRefused', v: 1, data })
  },
}
