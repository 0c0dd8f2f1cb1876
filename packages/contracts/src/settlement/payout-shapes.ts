import { z } from 'zod'
import { amount, hash, instant, pubkey, sentence } from '../shapes.ts'

/** Double entry: a positive amount is a debit, a negative amount a credit. The entries of a posting add up to zero. */
const ledgerAccount = z.enum([
  'received',
  'payable',
  'platform-fee',
  'price-difference',
  'routing-cost',
  'overpayment',
  'rounding',
  'paid-out',
  /** A seller's share that is returned to the buyer. */
  'owed-to-buyer',
  /** A seller's amount that the operator bears, since the market lost the payment. */
  'operator-loss',
])
export const ledgerEntry = z.strictObject({ account: ledgerAccount, amountMsat: z.string().regex(/^-?(0|[1-9]\d*)$/) })

/**
 * The cause that withholds a payout. `peer-proof`: no peer proof of the channel exists yet. `spend-unconfirmed`: a spend of
 * the funding is in a mempool; `spend-confirmed`: in a block. `reorg`: the funding is in no block. `terms`: evidence
 * contradicts the sold terms. `promise`: the seller's forwarding fees are higher than promised. `operator-loss`: the market
 * lost the payment, and the operator has to confirm that it pays the seller.
 */
export const withholdingCause = z.enum([
  'peer-proof',
  'spend-unconfirmed',
  'spend-confirmed',
  'reorg',
  'terms',
  'promise',
  'operator-loss',
])
type WithholdingCause = z.output<typeof withholdingCause>

/** Patterns of the reasons in the first version, which had no cause. */
const CAUSE_PATTERNS: readonly (readonly [RegExp, WithholdingCause])[] = [
  [/no longer in a block/, 'reorg'],
  [/has proven the channel/, 'peer-proof'],
  [/waited for a block/, 'spend-unconfirmed'],
  [/spends the output/, 'spend-confirmed'],
]
export const addCause = (old: { readonly reason: string }): object => ({
  ...old,
  cause: CAUSE_PATTERNS.find(([sentenceOf]) => sentenceOf.test(old.reason))?.[1] ?? 'promise',
})

/** The party that is paid: the seller, or the buyer if it gets the seller's share. */
export const creditor = z.enum(['seller', 'buyer'])
/** An operator's decision. `nobody` is only for a loss: the buyer has its payment back, and the seller is not paid. */
export const payoutDecision = z.enum(['seller', 'buyer', 'nobody'])
/** The name of the operator who acts. */
export const operatorName = z.string().min(1).max(100)
/** 32 bytes in lower-case hex. Empty: no proof. */
const proof = z.string().regex(/^([0-9a-f]{64})?$/, '32 bytes in lower-case hex')
export const submittedInvoice = z.strictObject({
  request: z.string(),
  paymentHash: hash,
  payee: pubkey,
  amountMsat: amount,
  expiresAt: instant,
})
/** `proof`: made by the preimage of the order's payment or by the operator's decision key, which the gateway lacks. */
export const provenInvoice = submittedInvoice.extend({ proof })
/** `proof`: made by the operator's decision key, so that a gateway that is taken over cannot decide. */
export const provenDecision = z.strictObject({
  to: payoutDecision,
  by: operatorName,
  reason: sentence,
  proof,
})
/** Older gateways send no proof, and settlement refuses their commands. */
export const addMissingProof = (old: object): object => ({ proof: '', ...old })

/**
 * The cause by which the market lost a payment although its channel may exist. `node-gave-back`: our node cancelled it by
 * itself. `not-ready`: the node or the chain did not answer when the guard had to decide. `not-taken-in-time`: the settlement
 * came too late. `operator-closed`: an operator closed the order after an outpoint was accepted.
 */
export const lossCause = z.enum(['node-gave-back', 'not-ready', 'not-taken-in-time', 'operator-closed'])
