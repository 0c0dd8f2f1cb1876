const LATE = 'is told late only to an order that ended before its payment was held, and this ending follows a payment'
const NO_HOLD = 'ends an order before its hold is asked for: nothing of a hold can come late'
const NAMED_LATER = 'an order hands on an outpoint only once settlement has told it that the payment is held'
const NEVER_BEGUN = 'an order asks again only for an attempt that began, and `Matched` began it'
const NEVER_LEASED = 'an order lets go of its watch only when it has failed, and begins a lease only when it is valid'
const HOLD_FIRST = 'an order hands on an invoice only behind its wish for the hold, in one line that loses nothing'

/**
 * Edges that no course of events takes, each with the reason. The deciders have them nevertheless, since each answers
 * whatever it is asked, and a fold must not break on it. One that is taken all the same fails the run, and
 * unreachable-walks.test.ts shows of the deciders and processes themselves what the reasons say.
 */
export const unreachable: Readonly<Record<string, string>> = {
  'order: SELLER_REJECTED --LateNoted--> SELLER_REJECTED': LATE,
  'order: SELLER_FAILED_TO_REACT --LateNoted--> SELLER_FAILED_TO_REACT': NO_HOLD,
  'order: SELLER_FAILED_TO_OPEN_CHANNEL --LateNoted--> SELLER_FAILED_TO_OPEN_CHANNEL': LATE,
  'order: SELLER_FAILED_TO_SEND_SWAP --LateNoted--> SELLER_FAILED_TO_SEND_SWAP': LATE,
  'order: INVALID_CHANNEL_OPENING --LateNoted--> INVALID_CHANNEL_OPENING': LATE,
  'order: CHANNEL_MONITORING_FINISHED --LateNoted--> CHANNEL_MONITORING_FINISHED':
    'the end of the lease is the last that the watch tells, and settlement tells of nothing late once it has the money',
  'order: BUYER_FAILED_TO_PAY --Told--> BUYER_FAILED_TO_PAY':
    'nobody has anything to be told: no seller was looked for without a payment, and the invoice is closed',
  'order: WAITING_FOR_CHANNEL_OPEN --BuyerFailedToPay--> BUYER_FAILED_TO_PAY':
    'settlement tells that an invoice expires before it tells of a payment to it; older releases told it afterwards',
  'match: NONE --RereservationRefused--> NONE': NEVER_BEGUN,
  'match: UNMATCHED --RereservationRefused--> UNMATCHED': NEVER_BEGUN,
  'match: RELEASED --RereservationRefused--> RELEASED': NEVER_BEGUN,
  'match: ASKING_AGAIN --MatchUsed--> USED':
    'an order offers settlement an outpoint only when it has the answer about the capacity, and asks for none behind one that is noted',
  'hold: NONE --OutpointNoteRefused--> NONE': NAMED_LATER,
  'hold: requested --OutpointNoteRefused--> requested': NAMED_LATER,
  'hold: open --OutpointNoteRefused--> open': NAMED_LATER,
  'hold: NONE --PayoutInvoiceOffered--> NONE': HOLD_FIRST,
  'hold: NONE --PayoutInvoiceTaken--> NONE': HOLD_FIRST,
  'hold: NONE --PayoutInvoiceRefused--> NONE': HOLD_FIRST,
  'channel: STOPPED --LeaseStarted--> LEASED': NEVER_LEASED,
  'channel: LEASED --WatchStopped--> STOPPED': NEVER_LEASED,
  'channel: LEASED --AttestationKept--> LEASED':
    'an order takes no attestation once it settles, and hands on what it has before it hears that the money is taken',
}
