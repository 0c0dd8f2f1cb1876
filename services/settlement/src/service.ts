import { channelContract } from '@penstock/contracts/channel.ts'
import { paymentHashClaimContract as payhashContract, settlementContract as contract } from '@penstock/contracts/settlement.ts'
import { defineAggregate, on, type Service, defineService } from '@penstock/runtime/service.ts'
import { checkKeyring } from './effects/check-keyring.ts'
import { checkNodeJob } from './effects/check-node.ts'
import { createEffects } from './effects/effects.ts'
import { newGuardState } from './effects/guard/guard-state.ts'
import { earlyProofJob } from './effects/guard/early-proof.ts'
import { gaugesJob } from './effects/guard/gauges.ts'
import { guardByClockJob, guardJob } from './effects/guard/guard.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { reconcileJob } from './effects/guard/reconcile.ts'
import { openInvoiceWatch } from './effects/guard/invoice-watch.ts'
import { enrich } from './enrich.ts'
import { type PaymentHashClaim, paymentHashClaimDecider } from './payment-hash-claim.ts'
import { CAUSES_COVERED_BY_LOSS } from './payout/payout.ts'
import { settlementProcess } from './settlement.process.ts'
import { settlementDecider } from './settlement.decide.ts'
import type { Settlement } from './state.ts'

/** The only service that can settle or cancel a buyer's payment, and the only one with the keyring. */
export function settlementService(): Service<SettlementPorts> {
  const guardState = newGuardState()
  const invoiceWatch = openInvoiceWatch(guardState.slots)
  return defineService<SettlementPorts>('settlement', {
    aggregates: [
      defineAggregate({
        contract,
        decider: settlementDecider,
        hashed: {
          version: 4,
          projections: { 1: withoutOutpointNumber, 2: withoutCauses, 3: withoutProof, 4: (state: Settlement) => state },
        },
        enrich,
        validUntil,
        process: settlementProcess,
        effects: createEffects(invoiceWatch, guardState),
        follows: {
          HoldRequested: ['issue'],
          HoldIssued: ['ExpireInvoice', 'cancel'],
          HoldHeld: ['LastHeight', 'cancel'],
          BuyerReachRequested: ['reach'],
          SettlementWanted: ['prove'],
          LastHeightReached: ['prove'],
          SettlementStarted: ['settle'],
          SettlementMissed: ['cancel'],
          CancelRequested: ['cancel'],
          HoldCancelled: ['EndLoss'],
          PayableClosed: ['RetryPayout'],
          LedgerPosted: ['RetryPayout'],
          PayoutInvoiceSubmitted: ['payhash.ClaimPayhash'],
          PayoutInvoiceAccepted: ['RetryPayout'],
          PayoutRequested: ['pay'],
          PayoutFailed: ['RetryPayout'],
        },
        retryDelaysMs: { prove: PROOF_PAUSE_MS },
      }),
      defineAggregate({
        contract: payhashContract,
        decider: paymentHashClaimDecider,
        hashed: { version: 1, projections: { 1: (state: PaymentHashClaim) => state } },
        correlation: (id, { owner }) => owner ?? id,
      }),
    ],
    reactions,
    checkStart: checkKeyring,
    jobs: [
      guardJob(guardState),
      guardByClockJob(guardState),
      earlyProofJob(guardState),
      invoiceWatch.job,
      checkNodeJob,
      reconcileJob(guardState),
      gaugesJob(guardState),
    ],
  })
}

const reactions = [
  on(payhashContract, 'PayhashClaimed', 'settlement.RecordPayhash', ({ orderId }, { aggregateId: paymentHash }) => [
    { id: orderId, data: { paymentHash, granted: true } },
  ]),
  on(payhashContract, 'PayhashRefused', 'settlement.RecordPayhash', ({ orderId }, { aggregateId: paymentHash }) => [
    { id: orderId, data: { paymentHash, granted: false } },
  ]),
  on(channelContract, 'PromiseBroken', 'settlement.RecordPromiseBroken', ({ reason, tipHeight }, { aggregateId: orderId }) => [
    { id: orderId, data: { sentence: reason, height: tipHeight } },
  ]),
]

/**
 * How long evidence of the node and the chain is valid. After an outage of the store or a pause of the process, an old proof must
 * not settle a payment. An old height must not accept a funding for which too few blocks are left.
 */
const OBSERVATION_VALID_MS = 60_000

/** Pause between two attempts of `prove`. A missing proof appears slowly, mostly at a block, where the guard checks anyway. */
const PROOF_PAUSE_MS = 1000

const validUntil = {
  // An observation counts as too old if its age is unknown, or if the clock of another process timed it.
  Guard: ({ observedAt }: { readonly observedAt: number }, preparedAtMs: number): number =>
    observedAt > 0 && observedAt <= preparedAtMs ? observedAt + OBSERVATION_VALID_MS : Number.NEGATIVE_INFINITY,
  RegisterOutpoint: (_: object, preparedAtMs: number): number => preparedAtMs + OBSERVATION_VALID_MS,
}

/** The part of the state that version 1 of the state hash covers: without submission numbers. */
const withoutOutpointNumber = ({ hold, loss: _, ...state }: Settlement): unknown => ({
  ...state,
  payout: projectOldPayout(state.payout),
  hold: { ...projectOldHold(hold), registered: hold.registered && { ...hold.registered, outpointNumber: undefined } },
})

/** State-hash version 2: without attempts to reach the buyer, withholding causes and operator losses. */
const withoutCauses = ({ hold, loss: _, ...state }: Settlement): unknown => ({
  ...state,
  payout: projectOldPayout(state.payout),
  hold: projectOldHold(hold),
})

/** State-hash version 3: without peer proofs, and with a decision for the seller that covers all later causes. */
const withoutProof = ({ hold, payout, ...state }: Settlement): unknown => ({
  ...state,
  hold: { ...hold, peerProof: undefined },
  payout: {
    ...payout,
    settledCauses: payout.isDecidedForSeller ? CAUSES_COVERED_BY_LOSS : payout.settledCauses,
    isDecidedForSeller: undefined,
  },
})

const projectOldHold = (hold: Settlement['hold']): object => ({
  ...hold,
  reachTries: undefined,
  missedAtHeight: undefined,
  peerProof: undefined,
})

const projectOldPayout = ({ invoices, ...payout }: Settlement['payout']): unknown => ({
  ...payout,
  invoices: Object.fromEntries(Object.entries(invoices).map(([hash, invoice]) => [hash, { ...invoice, creditor: undefined }])),
  creditor: undefined,
  withheld: undefined,
  settledCauses: undefined,
  isDecidedForSeller: undefined,
})
