import { order } from '@penstock/contracts/order.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import { ask, on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a hold has the order's id. */
const ofHolds: readonly Reaction[] = [
  on(settlement, 'HoldIssued', ({ paymentHash, invoice, expiresAt }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordHoldIssued', { paymentHash, invoice, expiresAt }),
  ]),
  on(settlement, 'HoldRefused', ({ reason }, { aggregateId }) => [ask(order, aggregateId, 'RecordHoldRefused', { reason })]),
  on(settlement, 'HoldHeld', ({ expiryHeight, heldAtHeight, receivedMsat }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordHoldHeld', { expiryHeight, heldAtHeight, receivedMsat }),
  ]),
  on(settlement, 'ReachChecked', ({ attempt: look, reached, reason, height }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordBuyerReach', { look, reached, reason, height }),
  ]),
  on(settlement, 'OutpointNoted', ({ attempt, outpoint, attestation, naming, window }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordOutpointNoted', {
      attempt,
      outpoint,
      noted: true,
      attested: attestation !== null,
      reason: null,
      tooLate: false,
      naming,
      ...(window && { window }),
    }),
  ]),
  on(settlement, 'OutpointNoteRefused', ({ attempt, outpoint, reason, tooLate }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordOutpointNoted', {
      attempt,
      outpoint,
      noted: false,
      attested: false,
      reason,
      tooLate,
      naming: 0,
    }),
  ]),
  on(settlement, 'SettleRequested', ({ proof, lastHeight }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordSettling', { outpoint: proof.outpoint, confirmations: proof.confirmations, lastHeight }),
  ]),
  on(settlement, 'HoldSettled', ({ settledAt }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordHoldSettled', { settledAt }),
  ]),
  on(settlement, 'CancelRequested', ({ reason, sentence }, { aggregateId }) =>
    reason === 'expired' ? [ask(order, aggregateId, 'RecordHoldExpiring', { reason: sentence })] : [],
  ),
  on(settlement, 'HoldCancelled', ({ reason, verdict, sentence }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordHoldCancelled', { reason, verdict, sentence }),
  ]),
]

const ofPayouts: readonly Reaction[] = [
  on(settlement, 'PayoutInvoiceTaken', ({ paymentHash }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordPayoutInvoice', { paymentHash, taken: true, reason: null }),
  ]),
  on(settlement, 'PayoutInvoiceRefused', ({ paymentHash, reason }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordPayoutInvoice', { paymentHash, taken: false, reason }),
  ]),
  on(settlement, 'PayoutSucceeded', ({ paymentHash }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordPayout', { what: 'paid', detail: paymentHash }),
  ]),
  on(settlement, 'PayoutFailed', ({ status, paymentHash }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordPayout', { what: 'failed', detail: `${status} ${paymentHash}` }),
  ]),
  on(settlement, 'PayoutWithheld', ({ reason }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordPayout', { what: 'withheld', detail: reason }),
  ]),
]

export const reactionsToSettlement: readonly Reaction[] = [...ofHolds, ...ofPayouts]
