import { z } from 'zod'
import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1 } from '../define.ts'
import { amount, hash, instant, noData, uuid } from '../shapes.ts'
import { failureReason, recordedRate, sandboxBehavior, walletReference } from './shapes.ts'

/**
 * A request for an invoice. `amount` is in base units of the wallet's asset. `textRecord`: the id of the description, the metadata,
 * the idempotency key and the invoice in the side table. `fingerprint`: the keyed hash of the caller's input.
 */
const request = walletReference.extend({
  amount,
  amountMsat: amount,
  textRecord: uuid,
  fingerprint: hash,
  paymentHash: hash,
  issuedAt: instant,
  expiresAt: instant,
  behavior: sandboxBehavior,
})

const sandboxOutcome = z.strictObject({ outcomeAt: instant })

/** A payment in. The stream's id is derived from the wallet and the idempotency key, so one key makes one invoice. */
export const receiveContract = defineContract('receive', 'payments', {
  facts: {
    /** `outcomeAt`: the time at which the sandbox ends the transaction as its caller chose; null if it expires. */
    ReceiveRequested: v1(
      request.omit({ issuedAt: true, expiresAt: true }).extend({ rate: recordedRate, outcomeAt: instant.nullable() }),
    ),
    InvoiceIssued: v1(z.strictObject({ issuedAt: instant, expiresAt: instant })),
    ReceiveCompleted: v1(z.strictObject({ amount, amountMsat: amount, settledAt: instant, rate: recordedRate })),
    ReceiveFailed: v1(z.strictObject({ reason: failureReason })),
    ReceiveExpiryReached: v1(noData),
    ReceiveExpired: v1(noData),
  },
  commands: {
    RequestReceive: { ...v1(request), from: ['gateway'] },
    RecordSandboxOutcome: v1(sandboxOutcome),
    RecordExpiryReached: v1(z.strictObject({ expiresAt: instant })),
  },
  records: {
    RequestReceive: ['ReceiveRequested', 'InvoiceIssued'],
    RecordSandboxOutcome: ['ReceiveCompleted', 'ReceiveFailed'],
    RecordExpiryReached: ['ReceiveExpiryReached', 'ReceiveExpired'],
  },
})
export type ReceiveFact = FactsOf<typeof receiveContract>
export type ReceiveCommand = CommandsOf<typeof receiveContract>
export type ReceiveTarget = TargetOf<typeof receiveContract>
