import type { QuoteCommand, QuoteRefusal } from '@penstock/contracts/quote.ts'
import type { Policy } from '@penstock/contracts/shapes.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { blocksOf } from '@penstock/kernel/time.ts'

/** The operator's values that an order copies, as the configuration names them. */
export type PolicySettings = {
  readonly approvalWindowSeconds: number
  readonly invoiceExpirySeconds: number
  readonly openWindowSeconds: number
  readonly maxAttempts: number
  readonly requiredConfirmations: number
  readonly fundingSeenBlocks: number
  readonly fundingConfirmsWithinBlocks: number
  readonly payoutConfirmations: number
  readonly withheldBlocks: number
  readonly failoverFeePercent: number
}

/** Before the lowest expiry every hold is settled or cancelled. */
const GUARD_BLOCKS = 24
const MARGIN_BLOCKS = 30
const MIN_CLTV_DELTA = 144
const MAX_CLTV_DELTA = 288
/** An announcement, the usual proof of a channel, comes after so many confirmations. */
const ANNOUNCED_AFTER = 6

type Request = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']
type Wanted = Pick<Request, 'offerId' | 'requiredConfirmations' | 'fundingConfirmsWithinBlocks'>

/** The values in force for an order, with what the buyer may choose; refused where the hold would last too long. */
export function policyFor(
  wanted: Wanted,
  settings: PolicySettings,
): { readonly policy: Policy } | { readonly refused: Refusal<QuoteRefusal> } {
  // A request may ask for more confirmations, and never gets fewer than ours.
  const requiredConfirmations = Math.max(wanted.requiredConfirmations ?? 1, settings.requiredConfirmations)
  const fundingConfirmsWithinBlocks = wanted.fundingConfirmsWithinBlocks ?? settings.fundingConfirmsWithinBlocks
  // Nobody else stands in for the seller of a named offer.
  const maxAttempts = wanted.offerId === null ? settings.maxAttempts : 1
  const openWindowMs = settings.openWindowSeconds * 1000
  const ours = MARGIN_BLOCKS + blocksOf(maxAttempts * openWindowMs)
  const needed = ours + fundingConfirmsWithinBlocks + Math.max(requiredConfirmations, ANNOUNCED_AFTER)
  if (needed > MAX_CLTV_DELTA) {
    const room = MAX_CLTV_DELTA - ours
    const tooLate = fundingConfirmsWithinBlocks + ANNOUNCED_AFTER > room
    return tooLate
      ? refuse(
          'FUNDING_CONFIRMS_TOO_LATE',
          `funding_confirms_within_blocks must be at most ${room - ANNOUNCED_AFTER}: the payment would be held for too long.`,
        )
      : refuse(
          'TOO_MANY_CONFIRMATIONS',
          `required_channel_confirmations must be at most ${room - fundingConfirmsWithinBlocks}: the payment would be held for too long.`,
        )
  }
  return {
    policy: {
      version: 1,
      approvalWindowMs: settings.approvalWindowSeconds * 1000,
      invoiceExpirySeconds: settings.invoiceExpirySeconds,
      openWindowMs,
      maxAttempts,
      requiredConfirmations,
      fundingSeenBlocks: settings.fundingSeenBlocks,
      fundingConfirmsWithinBlocks,
      cltvDelta: Math.max(needed, MIN_CLTV_DELTA),
      guardBlocks: GUARD_BLOCKS,
      payoutConfirmations: settings.payoutConfirmations,
      withheldBlocks: settings.withheldBlocks,
    },
  }
}
