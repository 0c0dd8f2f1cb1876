import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** The channel of an order, as the watcher's stream tells it. */
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

const nothing: ChannelView = {
  outpoint: null,
  confirmations: 0,
  tipHeight: null,
  channelId: null,
  fundingHeight: null,
  proven: null,
  leaseEndsAtHeight: null,
  lease: null,
}

/** @returns the view after one fact of the order's channel stream; another outpoint begins anew */
export function channelView(view: ChannelView = nothing, { fact }: Event<ChannelFact>): ChannelView {
  const here = 'tipHeight' in fact.data ? { ...view, tipHeight: fact.data.tipHeight } : view
  switch (fact.type) {
    case 'WatchStarted':
      return { ...nothing, outpoint: fact.data.outpoint, tipHeight: fact.data.fromHeight }
    case 'FundingConfirmed':
      return {
        ...here,
        confirmations: Math.max(1, here.confirmations),
        channelId: fact.data.shortChannelId,
        fundingHeight: fact.data.height,
      }
    case 'ConfirmationsSeen':
    case 'ConfirmationsReached':
      return { ...here, confirmations: fact.data.confirmations }
    case 'FundingReorged':
    case 'FundingLost':
      return { ...here, confirmations: 0, channelId: null, fundingHeight: null }
    case 'ChannelProven':
      return { ...here, proven: fact.data.peer }
    case 'LeaseStarted':
      return { ...here, leaseEndsAtHeight: fact.data.endsAtHeight }
    case 'LeaseEnded':
      return { ...here, lease: { early: fact.data.early, closedBy: fact.data.closedBy } }
    default:
      return here
  }
}
