import { accountContract, emailClaimContract, nodeClaimContract } from '@penstock/contracts/accounts.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { defineAggregate, on, defineService } from '@penstock/runtime/service.ts'
import { accountDecider } from './account.decide.ts'
import { accountProcess } from './account.process.ts'
import { type Account, withoutPassword } from './account.ts'
import { type Claim, emailClaimDecider, type NodeClaim, nodeClaimDecider } from './claims.ts'

/** Identity and permissions of callers. The gateway creates and checks their keys; only key hashes reach this service. */
export const accountsService = defineService('accounts', {
  aggregates: [
    defineAggregate({
      contract: accountContract,
      decider: accountDecider,
      process: accountProcess,
      follows: { NodeProofGiven: ['nodeclaim.ClaimNode'] },
      hashed: { version: 2, projections: { 1: withoutPassword, 2: (state: Account) => state } },
    }),
    defineAggregate({
      contract: emailClaimContract,
      decider: emailClaimDecider,
      hashed: { version: 1, projections: { 1: (state: Claim) => state } },
    }),
    defineAggregate({
      contract: nodeClaimContract,
      decider: nodeClaimDecider,
      hashed: { version: 1, projections: { 1: (state: NodeClaim) => state } },
    }),
  ],
  reactions: [
    on(orderContract, 'OrderPlaced', 'account.OpenSession', ({ buyer }, { aggregateId: orderId }) =>
      buyer.key?.kind === 'session' ? [{ id: buyer.accountId, data: { keyHash: buyer.key.hash, orderId } }] : [],
    ),
    on(orderContract, 'OrderPlaced', 'account.IssueOrderKey', ({ buyer }, { aggregateId: orderId }) =>
      buyer.key && buyer.key.kind !== 'session' ? [{ id: buyer.accountId, data: { keyHash: buyer.key.hash, orderId } }] : [],
    ),
    on(emailClaimContract, 'EmailClaimed', 'account.CreateAccount', ({ accountId, ...rest }, { aggregateId: emailHash }) => [
      { id: accountId, data: { emailHash, ...rest } },
    ]),
    on(accountContract, 'AccountDeleted', 'email.ReleaseEmail', ({ emailHash }, { aggregateId: accountId }) => [
      { id: emailHash, data: { accountId } },
    ]),
    on(accountContract, 'AccountDeleted', 'nodeclaim.ReleaseNode', ({ nodes }, { aggregateId: accountId }) =>
      nodes.map((pubkey) => ({ id: pubkey, data: { accountId } })),
    ),
    on(nodeClaimContract, 'NodeClaimed', 'account.RecordNodeClaim', ({ accountId }, { aggregateId: pubkey }) => [
      { id: accountId, data: { pubkey, granted: true } },
    ]),
    on(nodeClaimContract, 'NodeClaimRefused', 'account.RecordNodeClaim', ({ accountId }, { aggregateId: pubkey }) => [
      { id: accountId, data: { pubkey, granted: false } },
    ]),
  ],
})
