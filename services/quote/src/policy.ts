import { holdHeights, neededCltvDelta } from '@penstock/contracts/order/heights.ts'
import type { QuoteCommand, QuoteRefusal } from '@penstock/contracts/quote.ts'
import type { Policy } from '@penstock/contracts/shapes.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { toBlocks } from '@penstock/kernel/time.ts'

/** The operator's settings that an order copies, with their names in the configuration. */
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

type RequestQuoteInput = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']
type PolicyRequest = Pick<RequestQuoteInput, 'offerId' | 'requiredConfirmations' | 'fundingConfirmsWithinBlocks'>

/** The settings of an order, with the buyer's options; refused if the hold would last too long. */
export function choosePolicy(
  request: PolicyRequest,
  settings: PolicySettings,
): { readonly policy: Policy } | { readonly refused: Refusal<QuoteRefusal> } {
  // A request can require more confirmations, but never fewer than our setting.
  const requiredConfirmations = Math.max(request.requiredConfirmations ?? 1, settings.requiredConfirmations)
  const fundingConfirmsWithinBlocks = request.fundingConfirmsWithinBlocks ?? settings.fundingConfirmsWithinBlocks
  // No other seller replaces the seller of a manual order.
  const maxAttempts = request.offerId === null ? settings.maxAttempts : 1
  const openWindowMs = settings.openWindowSeconds * 1000
  const { guardBlocks, spareBlocks, leastConfirmationBlocks, maxCltvDelta } = holdHeights
  const openWindowsBlocks = toBlocks(maxAttempts * openWindowMs)
  const cltvDelta = neededCltvDelta(openWindowsBlocks, {
    guardBlocks,
    fundingConfirmsWithinBlocks,
    confirmations: requiredConfirmations,
  })
  if (cltvDelta > maxCltvDelta) {
    const buyerBlocks = maxCltvDelta - guardBlocks - spareBlocks - openWindowsBlocks
    const isTooLate = fundingConfirmsWithinBlocks + leastConfirmationBlocks > buyerBlocks
    return isTooLate
      ? refuse(
          'FUNDING_CONFIRMS_TOO_LATE',
          `funding_confirms_within_blocks must be at most ${buyerBlocks - leastConfirmationBlocks}: the payment would be held for too long.`,
        )
      : refuse(
          'TOO_MANY_CONFIRMATIONS',
          `required_channel_confirmations must be at most ${buyerBlocks - fundingConfirmsWithinBlocks}: the payment would be held for too long.`,
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
      cltvDelta,
      guardBlocks,
      payoutConfirmations: settings.payoutConfirmations,
      withheldBlocks: settings.withheldBlocks,
    },
  }
}
