import { command } from '@penstock/kernel/process.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { settlementContract } from '@penstock/contracts/settlement.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a hold has the order's id. */
const holdReactions: readonly Reaction[] = [
  on(settlementContract, 'HoldIssued', ({ paymentHash, invoice, expiresAt }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordHoldIssued', data: { paymentHash, invoice, expiresAt } }),
  ]),
  on(settlementContract, 'HoldRefused', ({ reason }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordHoldRefused', data: { reason } }),
  ]),
  on(settlementContract, 'HoldHeld', ({ expiryHeight, heldAtHeight, receivedMsat }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordHoldHeld', data: { expiryHeight, heldAtHeight, receivedMsat } }),
  ]),
  on(settlementContract, 'BuyerReachChecked', ({ attempt: check, reached, reason, height }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordBuyerReach', data: { check, reached, reason, height } }),
  ]),
  on(settlementContract, 'OutpointRegistered', ({ attempt, outpoint, attestation, outpointNumber, window }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordOutpointRegistered',
      data: {
        attempt,
        outpoint,
        registered: true,
        attested: attestation !== null,
        reason: null,
        tooLate: false,
        outpointNumber,
        ...(window && { window }),
      },
    }),
  ]),
  on(settlementContract, 'OutpointRegistrationRefused', ({ attempt, outpoint, reason, tooLate }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordOutpointRegistered',
      data: {
        attempt,
        outpoint,
        registered: false,
        attested: false,
        reason,
        tooLate,
        outpointNumber: 0,
      },
    }),
  ]),
  on(settlementContract, 'SettlementStarted', ({ proof, lastHeight }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordSettling',
      data: {
        outpoint: proof.outpoint,
        confirmations: proof.confirmations,
        lastHeight,
      },
    }),
  ]),
  on(settlementContract, 'HoldSettled', ({ settledAt }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordHoldSettled', data: { settledAt } }),
  ]),
  on(settlementContract, 'CancelRequested', ({ reason, sentence }, { aggregateId }) =>
    reason === 'expired'
      ? [command<OrderTarget>('order', aggregateId, { type: 'RecordHoldExpiring', data: { reason: sentence } })]
      : [],
  ),
  on(settlementContract, 'HoldCancelled', ({ reason, verdict, sentence }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordHoldCancelled', data: { reason, verdict, sentence } }),
  ]),
]

const payoutReactions: readonly Reaction[] = [
  on(settlementContract, 'PayoutInvoiceAccepted', ({ paymentHash }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordPayoutInvoice',
      data: { paymentHash, accepted: true, reason: null },
    }),
  ]),
  on(settlementContract, 'PayoutInvoiceRefused', ({ paymentHash, reason }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordPayoutInvoice', data: { paymentHash, accepted: false, reason } }),
  ]),
  on(settlementContract, 'PayoutSucceeded', ({ paymentHash }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordPayout', data: { what: 'paid', detail: paymentHash } }),
  ]),
  on(settlementContract, 'PayoutFailed', ({ status, paymentHash }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordPayout',
      data: { what: 'failed', detail: `${status} ${paymentHash}` },
    }),
  ]),
  on(settlementContract, 'PayoutWithheld', ({ reason }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordPayout', data: { what: 'withheld', detail: reason } }),
  ]),
]

export const reactionsToSettlement: readonly Reaction[] = [...holdReactions, ...payoutReactions]
