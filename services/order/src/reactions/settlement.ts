import { settlementContract } from '@penstock/contracts/settlement.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a hold has the order's id. */
const holdReactions: readonly Reaction[] = [
  on(settlementContract, 'HoldIssued', 'order.RecordHoldIssued', ({ paymentHash, invoice, expiresAt }, { aggregateId }) => [
    { id: aggregateId, data: { paymentHash, invoice, expiresAt } },
  ]),
  on(settlementContract, 'HoldRefused', 'order.RecordHoldRefused', ({ reason }, { aggregateId }) => [
    { id: aggregateId, data: { reason } },
  ]),
  on(settlementContract, 'HoldHeld', 'order.RecordHoldHeld', ({ expiryHeight, heldAtHeight, receivedMsat }, { aggregateId }) => [
    { id: aggregateId, data: { expiryHeight, heldAtHeight, receivedMsat } },
  ]),
  on(
    settlementContract,
    'BuyerReachChecked',
    'order.RecordBuyerReach',
    ({ attempt: check, reached, reason, height }, { aggregateId }) => [
      { id: aggregateId, data: { check, reached, reason, height } },
    ],
  ),
  on(
    settlementContract,
    'OutpointRegistered',
    'order.RecordOutpointRegistered',
    ({ attempt, outpoint, attestation, outpointNumber, window }, { aggregateId }) => [
      {
        id: aggregateId,
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
      },
    ],
  ),
  on(
    settlementContract,
    'OutpointRegistrationRefused',
    'order.RecordOutpointRegistered',
    ({ attempt, outpoint, reason, tooLate }, { aggregateId }) => [
      {
        id: aggregateId,
        data: {
          attempt,
          outpoint,
          registered: false,
          attested: false,
          reason,
          tooLate,
          outpointNumber: 0,
        },
      },
    ],
  ),
  on(settlementContract, 'SettlementStarted', 'order.RecordSettling', ({ proof, lastHeight }, { aggregateId }) => [
    {
      id: aggregateId,
      data: {
        outpoint: proof.outpoint,
        confirmations: proof.confirmations,
        lastHeight,
      },
    },
  ]),
  on(settlementContract, 'HoldSettled', 'order.RecordHoldSettled', ({ settledAt }, { aggregateId }) => [
    { id: aggregateId, data: { settledAt } },
  ]),
  on(settlementContract, 'CancelRequested', 'order.RecordHoldExpiring', ({ reason, sentence }, { aggregateId }) =>
    reason === 'expired' ? [{ id: aggregateId, data: { reason: sentence } }] : [],
  ),
  on(settlementContract, 'HoldCancelled', 'order.RecordHoldCancelled', ({ reason, verdict, sentence }, { aggregateId }) => [
    { id: aggregateId, data: { reason, verdict, sentence } },
  ]),
]

const payoutReactions: readonly Reaction[] = [
  on(settlementContract, 'PayoutInvoiceAccepted', 'order.RecordPayoutInvoice', ({ paymentHash }, { aggregateId }) => [
    { id: aggregateId, data: { paymentHash, accepted: true, reason: null } },
  ]),
  on(settlementContract, 'PayoutInvoiceRefused', 'order.RecordPayoutInvoice', ({ paymentHash, reason }, { aggregateId }) => [
    { id: aggregateId, data: { paymentHash, accepted: false, reason } },
  ]),
  on(settlementContract, 'PayoutSucceeded', 'order.RecordPayout', ({ paymentHash }, { aggregateId }) => [
    { id: aggregateId, data: { what: 'paid', detail: paymentHash } },
  ]),
  on(settlementContract, 'PayoutFailed', 'order.RecordPayout', ({ status, paymentHash }, { aggregateId }) => [
    { id: aggregateId, data: { what: 'failed', detail: `${status} ${paymentHash}` } },
  ]),
  on(settlementContract, 'PayoutWithheld', 'order.RecordPayout', ({ reason }, { aggregateId }) => [
    { id: aggregateId, data: { what: 'withheld', detail: reason } },
  ]),
]

export const reactionsToSettlement: readonly Reaction[] = [...holdReactions, ...payoutReactions]
