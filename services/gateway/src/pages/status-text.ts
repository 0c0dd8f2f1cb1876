import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'

/** The texts of a status, for a buyer who buys a channel for the first time. */
export type StatusText = {
  /** Name of the event in the timeline. */
  readonly title: string
  readonly text: string
  /** Heading of the page while this is the newest status; `lead` explains it. */
  readonly headline: string
  readonly lead: string
}

export const statusTexts: Readonly<Record<OrderStatus, StatusText>> = {
  WAITING_FOR_SELLER_APPROVAL: {
    title: 'Order placed',
    text: 'A seller with enough free capacity was found for your order.',
    headline: 'A seller was found',
    lead: 'Your invoice is shown here as soon as the seller has agreed.',
  },
  WAITING_FOR_BUYER_PAYMENT: {
    title: 'Invoice ready',
    text: 'The seller has agreed, and your invoice is waiting.',
    headline: 'Pay to open your channel',
    lead: 'Your payment is only locked at first. It is taken when your channel is proven, and comes back to you otherwise.',
  },
  WAITING_FOR_CHANNEL_OPEN: {
    title: 'Payment locked',
    text: 'Your payment waits at our node, and the seller has reserved the capacity.',
    headline: 'Your payment is locked in',
    lead: 'The seller is preparing your channel. Your wallet shows the payment as pending until the channel is proven.',
  },
  SELLER_SENT_TRANSACTION: {
    title: 'Funding transaction named',
    text: 'The seller has told us which transaction opens your channel.',
    headline: 'Your channel is being funded',
    lead: 'The seller has named the transaction that opens your channel. We are looking for it on the network.',
  },
  WAITING_FOR_ON_CHAIN_CONFIRMATION: {
    title: 'Transaction on the network',
    text: 'We have seen it ourselves, with the capacity that you bought.',
    headline: 'The transaction is on its way',
    lead: 'It waits for the next Bitcoin block. A block takes about ten minutes, sometimes an hour.',
  },
  ON_CHAIN_CONFIRMATION: {
    title: 'First confirmation',
    text: 'The transaction is in a block. A few more make it safe.',
    headline: 'Your channel is confirming',
    lead: 'The transaction is in a block. Each further block makes it safer.',
  },
  SELLER_OPENED_CHANNEL: {
    title: 'Channel open',
    text: 'It has all the confirmations that it needs, and we check that it leads to your node.',
    headline: 'Your channel is open',
    lead: 'One last check: we prove that it leads to your node before the seller is paid.',
  },
  VALID_CHANNEL_OPENING: {
    title: 'Channel proven, payment complete',
    text: 'The channel is yours to receive through, and the seller gets its share.',
    headline: 'Your channel is ready',
    lead: 'It is open, proven and paid. You can receive through it now.',
  },
  CHANNEL_MONITORING_FINISHED: {
    title: 'Lease finished',
    text: 'The time for which the seller promised this channel is over.',
    headline: 'The lease is over',
    lead: 'The time for which the seller promised this channel is over. It may stay open for longer.',
  },
  SELLER_REJECTED: {
    title: 'No seller took the order',
    text: 'The order ended before a channel was opened.',
    headline: 'No seller took the order',
    lead: 'You can order again at any time.',
  },
  SELLER_FAILED_TO_REACT: {
    title: 'The seller did not answer',
    text: 'The order ended before a channel was opened.',
    headline: 'The seller did not answer in time',
    lead: 'You can order again at any time.',
  },
  BUYER_REJECTED: {
    title: 'Order cancelled',
    text: 'The order ended before it was paid.',
    headline: 'The order is cancelled',
    lead: 'You can order again at any time.',
  },
  BUYER_FAILED_TO_PAY: {
    title: 'Invoice expired',
    text: 'It was not paid in time, so the order has ended.',
    headline: 'The invoice has expired',
    lead: 'It was not paid in time. Order again to get a fresh one.',
  },
  SELLER_FAILED_TO_OPEN_CHANNEL: {
    title: 'No channel was opened',
    text: 'No seller opened your channel in the time that there was.',
    headline: 'No channel was opened',
    lead: 'No seller opened your channel in time. You can order again; with rails_cluster_only only the most reliable sellers serve you.',
  },
  SELLER_FAILED_TO_SEND_SWAP: {
    title: 'The transaction did not arrive',
    text: 'The funding transaction never confirmed.',
    headline: 'The channel was not funded',
    lead: 'The transaction that was named did not confirm. You can order again at any time.',
  },
  INVALID_CHANNEL_OPENING: {
    title: 'No valid channel',
    text: 'The channel is not what you bought, or it was closed before it was proven.',
    headline: 'No valid channel was opened',
    lead: 'The channel is not what you bought, or it was closed before it was proven. Nobody is paid for it.',
  },
  ADMIN_CLOSED: {
    title: 'Closed by the operator',
    text: 'The operator of this service has ended the order.',
    headline: 'The order was closed',
    lead: 'The operator of this service has ended the order.',
  },
}
