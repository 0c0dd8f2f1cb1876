import { z } from 'zod'
import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1 } from '../define.ts'
import { amount, hash, instant, noData, pubkey, uuid } from '../shapes.ts'
import { failureReason, recordedRate, sandboxBehavior, walletReference } from './shapes.ts'

/** The invoice that a send pays. Its text is in the side table, because it shows a description. */
const invoice = z.strictObject({ paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant })

/** A request for a payment. `target`: how the caller named the payee. The other fields are those of a request to receive. */
const request = walletReference.extend({
  target: z.enum(['invoice', 'address']),
  amount,
  textRecord: uuid,
  fingerprint: hash,
  invoice,
  behavior: sandboxBehavior,
})

/** The claim that a send gives back when it ends without a payment: the claim's stream has both values in its id. */
const claimedHash = request.pick({ walletId: true }).extend({ paymentHash: hash })

/**
 * A payment out. The stream's id is derived from the wallet and the idempotency key, so one key makes one payment. The payment
 * hash is claimed in a stream of its own, so that no other send of the wallet pays the same invoice.
 */
export const sendContract = defineContract('send', 'payments', {
  facts: {
    /** `outcomeAt`: the time at which the sandbox ends the transaction as its caller chose; null if it expires. */
    SendRequested: v1(request.omit({ invoice: true }).extend({ rate: recordedRate, outcomeAt: instant.nullable() })),
    InvoiceResolved: v1(invoice),
    HashClaimed: v1(noData),
    /** Another send of the wallet has this payment hash, and stands for this send. */
    HashTaken: v1(z.strictObject({ ofSendId: uuid })),
    SendCompleted: v1(z.strictObject({ amount, amountMsat: amount, feeMsat: amount, settledAt: instant, rate: recordedRate })),
    SendFailed: v1(claimedHash.extend({ reason: failureReason })),
    SendExpiryReached: v1(noData),
    SendExpired: v1(claimedHash),
  },
  commands: {
    RequestSend: { ...v1(request), from: ['gateway'] },
    RecordClaim: v1(z.strictObject({ granted: z.boolean(), ofSendId: uuid })),
    RecordSandboxOutcome: v1(z.strictObject({ outcomeAt: instant })),
    RecordExpiryReached: v1(z.strictObject({ expiresAt: instant })),
  },
  records: {
    RequestSend: ['SendRequested', 'InvoiceResolved'],
    RecordClaim: ['HashClaimed', 'HashTaken'],
    RecordSandboxOutcome: ['SendCompleted', 'SendFailed'],
    RecordExpiryReached: ['SendExpiryReached', 'SendExpired'],
  },
})
export type SendFact = FactsOf<typeof sendContract>
export type SendCommand = CommandsOf<typeof sendContract>
export type SendTarget = TargetOf<typeof sendContract>

/** The one open or completed send of a payment hash. The stream's id is `<wallet id>:<payment hash>`. */
export const sendClaimContract = defineContract('sendclaim', 'payments', {
  facts: {
    HashGranted: v1(z.strictObject({ sendId: uuid })),
    HashRefused: v1(z.strictObject({ sendId: uuid, ofSendId: uuid })),
    HashReleased: v1(z.strictObject({ sendId: uuid })),
  },
  commands: {
    ClaimHash: v1(z.strictObject({ sendId: uuid })),
    /** The send failed or expired, so another send may pay the invoice. */
    ReleaseHash: v1(z.strictObject({ sendId: uuid })),
  },
  records: { ClaimHash: ['HashGranted', 'HashRefused'], ReleaseHash: ['HashReleased'] },
})
export type SendClaimFact = FactsOf<typeof sendClaimContract>
export type SendClaimCommand = CommandsOf<typeof sendClaimContract>
export type SendClaimTarget = TargetOf<typeof sendClaimContract>
