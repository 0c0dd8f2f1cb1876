import type { EmailClaimCommand, EmailClaimFact, NodeClaimCommand, NodeClaimFact } from '@penstock/contracts/accounts.ts'
import { accept, type Decider, refuse, type Refusal } from '@penstock/kernel/decider.ts'

/** The account that owns an e-mail address or a node: the first account that claimed it, until that account is deleted. */
export type Claim = { readonly accountId: string | null }

const unclaimed: Claim = { accountId: null }

type EmailRefusal = Refusal<'ACCOUNT_REFUSED'>

/** One message for a taken address and a weak password. A caller with a strong password still learns that it is taken. */
const ACCOUNT_REFUSED_MESSAGE =
  'The account cannot be created: use an e-mail address that has none yet, and a password of at least 12 characters.'

export const emailClaimDecider: Decider<Claim, EmailClaimCommand, EmailClaimFact, EmailRefusal> = {
  initial: unclaimed,
  evolve: (_, { type, data }) => ({ accountId: type === 'EmailClaimed' ? data.accountId : null }),
  decide: ({ accountId }, { type, data }) => {
    if (type === 'ReleaseEmail') return accountId === data.accountId ? accept({ type: 'EmailReleased', v: 1, data }) : accept()
    if (accountId === data.accountId) return accept()
    return accountId === null ? accept({ type: 'EmailClaimed', v: 1, data }) : refuse('ACCOUNT_REFUSED', ACCOUNT_REFUSED_MESSAGE)
  },
}

/**
 * `refused`: ids of accounts whose claim was refused, and of deleted accounts, which released the node. A claim that arrives
 * after its account was deleted therefore has no effect.
 */
export type NodeClaim = Claim & { readonly refused: readonly string[] }

export const nodeClaimDecider: Decider<NodeClaim, NodeClaimCommand, NodeClaimFact> = {
  initial: { ...unclaimed, refused: [] },
  evolve: ({ accountId, refused }, { type, data }) => {
    if (type === 'NodeClaimed') return { accountId: data.accountId, refused }
    const isReleased = type === 'NodeReleased' && accountId === data.accountId
    return { accountId: isReleased ? null : accountId, refused: [...refused, data.accountId] }
  },
  decide: ({ accountId, refused }, { type, data }) => {
    if (refused.includes(data.accountId)) return accept()
    if (type === 'ReleaseNode') return accept({ type: 'NodeReleased', v: 1, data })
    if (accountId === data.accountId) return accept()
    return accept({ type: accountId === null ? 'NodeClaimed' : 'NodeClaimRefused', v: 1, data })
  },
}
