import { command } from '@penstock/kernel/process.ts'
import {
  accountContract,
  emailClaimContract,
  nodeClaimContract,
  type AccountTarget,
  type EmailClaimTarget,
  type NodeClaimTarget,
} from '@penstock/contracts/accounts.ts'
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
    on(orderContract, 'OrderPlaced', ({ buyer }, { aggregateId: orderId }) => {
      if (buyer.key === null) return []
      const data = { keyHash: buyer.key.hash, orderId }
      return [
        command<AccountTarget>('account', buyer.accountId, {
          type: buyer.key.kind === 'session' ? 'OpenSession' : 'IssueOrderKey',
          data,
        }),
      ]
    }),
    on(emailClaimContract, 'EmailClaimed', ({ accountId, ...rest }, { aggregateId: emailHash }) => [
      command<AccountTarget>('account', accountId, { type: 'CreateAccount', data: { emailHash, ...rest } }),
    ]),
    on(accountContract, 'AccountDeleted', ({ emailHash, nodes }, { aggregateId: accountId }) => [
      command<EmailClaimTarget>('email', emailHash, { type: 'ReleaseEmail', data: { accountId } }),
      ...nodes.map((pubkey) => command<NodeClaimTarget>('nodeclaim', pubkey, { type: 'ReleaseNode', data: { accountId } })),
    ]),
    on(nodeClaimContract, 'NodeClaimed', ({ accountId }, { aggregateId: pubkey }) => [
      command<AccountTarget>('account', accountId, { type: 'RecordNodeClaim', data: { pubkey, granted: true } }),
    ]),
    on(nodeClaimContract, 'NodeClaimRefused', ({ accountId }, { aggregateId: pubkey }) => [
      command<AccountTarget>('account', accountId, { type: 'RecordNodeClaim', data: { pubkey, granted: false } }),
    ]),
  ],
})
