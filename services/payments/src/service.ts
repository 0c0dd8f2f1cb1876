import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import { endpointContract } from '@penstock/contracts/payments/endpoint.ts'
import { environmentContract } from '@penstock/contracts/payments/environment.ts'
import { receiveContract } from '@penstock/contracts/payments/receive.ts'
import { sendClaimContract, sendContract } from '@penstock/contracts/payments/send.ts'
import { serviceKeyContract } from '@penstock/contracts/payments/service-key.ts'
import { walletContract } from '@penstock/contracts/payments/wallet.ts'
import { priceContract } from '@penstock/contracts/quote.ts'
import { defineAggregate, defineService, on, type Service } from '@penstock/runtime/service.ts'
import { enrichRequestReceive, enrichRequestSend, enrichSandboxOutcome } from './enrich.ts'
import { endpointDecider } from './endpoint.ts'
import { environmentDecider } from './environment.ts'
import { receiveDecider } from './receive.decide.ts'
import { receiveProcess } from './receive.process.ts'
import { sendClaimDecider } from './send-claim.ts'
import { sendDecider } from './send.decide.ts'
import { sendClaimIdOf, sendProcess } from './send.process.ts'
import { serviceKeyDecider } from './service-key.ts'
import { createPaymentsView } from './views.ts'
import { walletDecider } from './wallet.ts'
import { webhookJob } from './webhooks/job.ts'
import type { WebhookPorts } from './webhooks/ports.ts'

/** Creates the service with its own view, so that two markets in one process share no state. */
export function paymentsService(): Service<WebhookPorts> {
  const view = createPaymentsView()
  return defineService<WebhookPorts>('payments', {
    aggregates: [
      defineAggregate({
        contract: environmentContract,
        decider: environmentDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
      }),
      defineAggregate({
        contract: walletContract,
        decider: walletDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
      }),
      defineAggregate({
        contract: receiveContract,
        decider: receiveDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
        enrich: { RequestReceive: enrichRequestReceive(view), RecordSandboxOutcome: enrichSandboxOutcome(view) },
        process: receiveProcess,
        follows: { InvoiceIssued: ['RecordSandboxOutcome', 'RecordExpiryReached'] },
      }),
      defineAggregate({
        contract: sendContract,
        decider: sendDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
        enrich: { RequestSend: enrichRequestSend(view), RecordSandboxOutcome: enrichSandboxOutcome(view) },
        process: sendProcess,
        follows: {
          InvoiceResolved: ['sendclaim.ClaimHash'],
          HashClaimed: ['RecordSandboxOutcome', 'RecordExpiryReached'],
        },
      }),
      defineAggregate({
        contract: sendClaimContract,
        decider: sendClaimDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
      }),
      defineAggregate({
        contract: serviceKeyContract,
        decider: serviceKeyDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
      }),
      defineAggregate({
        contract: endpointContract,
        decider: endpointDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
      }),
    ],
    reactions: [firstWalletReaction, ...claimReactions],
    jobs: [webhookJob],
    memoryViews: [{ name: 'payments', from: [environmentContract, walletContract, priceContract], apply: view.apply }],
  })
}

/** A sandbox begins with a BTC wallet, which has the symbol of its asset as its name. */
const firstWalletReaction = on(
  environmentContract,
  'EnvironmentCreated',
  'wallet.CreateWallet',
  ({ teamId, type: environmentType, firstWalletId }, { aggregateId: environmentId }) =>
    firstWalletId === null
      ? []
      : [{ id: firstWalletId, data: { environmentId, environmentType, teamId, assetId: btcAsset.id, nameRecord: null } }],
)

const claimReactions = [
  on(sendClaimContract, 'HashGranted', 'send.RecordClaim', ({ sendId }) => [
    { id: sendId, data: { granted: true, ofSendId: sendId } },
  ]),
  on(sendClaimContract, 'HashRefused', 'send.RecordClaim', ({ sendId, ofSendId }) => [
    { id: sendId, data: { granted: false, ofSendId } },
  ]),
  on(sendContract, 'SendFailed', 'sendclaim.ReleaseHash', (send, { aggregateId: sendId }) => [
    { id: sendClaimIdOf(send), data: { sendId } },
  ]),
  on(sendContract, 'SendExpired', 'sendclaim.ReleaseHash', (send, { aggregateId: sendId }) => [
    { id: sendClaimIdOf(send), data: { sendId } },
  ]),
]
