import { account, emailClaim, nodeClaim } from '@penstock/contracts/accounts.ts'
import { order } from '@penstock/contracts/order.ts'
import { aggregate, ask, on, service } from '@penstock/runtime/service.ts'
import { accountDecider } from './account.decide.ts'
import { accountProcess } from './account.process.ts'
import { type Account, withoutPassword } from './account.ts'
import { type Claim, emailClaimDecider, type NodeClaim, nodeClaimDecider } from './claims.ts'

/** Who is calling, and what they may do. Keys reach it as hashes; the gateway makes and checks the keys themselves. */
export const accounts = service('accounts', {
  aggregates: [
    aggregate({
      contract: account,
      decider: accountDecider,
      process: accountProcess,
      hashed: { version: 2, of: { 1: withoutPassword, 2: (state: Account) => state } },
    }),
    aggregate({ contract: emailClaim, decider: emailClaimDecider, hashed: { version: 1, of: { 1: (state: Claim) => state } } }),
    aggregate({ contract: nodeClaim, decider: nodeClaimDecider, hashed: { version: 1, of: { 1: (state: NodeClaim) => state } } }),
  ],
  reactions: [
    on(order, 'OrderPlaced', ({ buyer }, { aggregateId: orderId }) => {
      if (buyer.key === null) return []
      const data = { keyHash: buyer.key.hash, orderId }
      return [ask(account, buyer.accountId, buyer.key.kind === 'session' ? 'OpenSession' : 'IssueOrderKey', data)]
    }),
    on(emailClaim, 'EmailClaimed', ({ accountId, ...rest }, { aggregateId: emailHash }) => [
      ask(account, accountId, 'CreateAccount', { emailHash, ...rest }),
    ]),
    on(account, 'AccountDeleted', ({ emailHash, nodes }, { aggregateId: accountId }) => [
      ask(emailClaim, emailHash, 'ReleaseEmail', { accountId }),
      ...nodes.map((pubkey) => ask(nodeClaim, pubkey, 'ReleaseNode', { accountId })),
    ]),
    on(nodeClaim, 'NodeClaimed', ({ accountId }, { aggregateId: pubkey }) => [
      ask(account, accountId, 'RecordNodeClaim', { pubkey, granted: true }),
    ]),
    on(nodeClaim, 'NodeClaimRefused', ({ accountId }, { aggregateId: pubkey }) => [
      ask(account, accountId, 'RecordNodeClaim', { pubkey, granted: false }),
    ]),
  ],
})
