import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** The channel of an order, folded from the watcher's stream. */
export type ChannelView = {
  readonly outpoint: string | null
  readonly confirmations: number
  readonly tipHeight: number | null
  readonly channelId: string | null
  readonly fundingHeight: number | null
  readonly proven: 'graph' | 'probe' | null
  readonly leaseEndsAtHeight: number | null
  readonly lease: { readonly early: boolean; readonly closedBy: 'seller' | 'buyer' | 'unknown' | null } | null
}

const emptyChannelView: ChannelView = {
  outpoint: null,
  confirmations: 0,
  tipHeight: null,
  channelId: null,
  fundingHeight: null,
  proven: null,
  leaseEndsAtHeight: null,
  lease: null,
}

/** @returns the view after one fact of the order's channel stream; another outpoint resets the view */
export function evolveChannelView(view: ChannelView = emptyChannelView, { fact }: Event<ChannelFact>): ChannelView {
  const next = 'tipHeight' in fact.data ? { ...view, tipHeight: fact.data.tipHeight } : view
  switch (fact.type) {
    case 'WatchStarted':
      return { ...emptyChannelView, outpoint: fact.data.outpoint, tipHeight: fact.data.fromHeight }
    case 'FundingConfirmed':
      return {
        ...next,
        confirmations: Math.max(1, next.confirmations),
        channelId: fact.data.shortChannelId,
        fundingHeight: fact.data.height,
      }
    case 'ConfirmationsSeen':
    case 'ConfirmationsReached':
      return { ...next, confirmations: fact.data.confirmations }
    case 'FundingReorged':
    case 'FundingLost':
      return { ...next, confirmations: 0, channelId: null, fundingHeight: null }
    case 'ChannelProven':
      return { ...next, proven: fact.data.peer }
    case 'LeaseStarted':
      return { ...next, leaseEndsAtHeight: fact.data.endsAtHeight }
    case 'LeaseEnded':
      return { ...next, lease: { early: fact.data.early, closedBy: fact.data.closedBy } }
    default:
      return next
  }
}
