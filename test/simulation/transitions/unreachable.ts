const LATE_MESSAGE =
  'A failed order gets a late message only if it ended between `IssueHold` and `PaymentHeld`. No order gets this status then.'
const ACKNOWLEDGED_BEFORE = 'Only earlier versions recorded that a service had acknowledged a command.'
const NO_HOLD = 'An order gets this status before it requests its hold, so no message about a hold can be late.'
const NAMED_LATER = 'An order sends an outpoint to settlement only after it has received `HoldHeld`.'
const NEVER_BEGUN = 'An order renews only the reservation of an attempt that has started, and an attempt starts with `Matched`.'
const NEVER_LEASED = 'An order sends `StopWatch` only if it has failed, and `StartLease` only if it is valid.'
const HOLD_FIRST = 'An order sends `IssueHold` before any payout invoice. The commands arrive in this sequence, and none is lost.'

/**
 * Transitions that no run can take, each with the reason. The state machines contain them because a decider answers every command
 * in every state. A full run that takes such a transition fails. unreachable-walks.test.ts checks the reasons.
 */
export const unreachableTransitions: Readonly<Record<string, string>> = {
  'order: SELLER_REJECTED --LateMessageRecorded--> SELLER_REJECTED': LATE_MESSAGE,
  'order: SELLER_FAILED_TO_REACT --LateMessageRecorded--> SELLER_FAILED_TO_REACT': NO_HOLD,
  'order: SELLER_FAILED_TO_OPEN_CHANNEL --LateMessageRecorded--> SELLER_FAILED_TO_OPEN_CHANNEL': LATE_MESSAGE,
  'order: SELLER_FAILED_TO_SEND_SWAP --LateMessageRecorded--> SELLER_FAILED_TO_SEND_SWAP': LATE_MESSAGE,
  'order: INVALID_CHANNEL_OPENING --LateMessageRecorded--> INVALID_CHANNEL_OPENING': LATE_MESSAGE,
  'order: CHANNEL_MONITORING_FINISHED --LateMessageRecorded--> CHANNEL_MONITORING_FINISHED':
    '`LeaseEnded` is the last fact of the watch. After `HoldSettled`, settlement sends no message that is late for this order.',
  'order: WAITING_FOR_BUYER_PAYMENT --Told--> WAITING_FOR_BUYER_PAYMENT': ACKNOWLEDGED_BEFORE,
  'order: WAITING_FOR_CHANNEL_OPEN --Told--> WAITING_FOR_CHANNEL_OPEN': ACKNOWLEDGED_BEFORE,
  'order: SELLER_SENT_TRANSACTION --Told--> SELLER_SENT_TRANSACTION': ACKNOWLEDGED_BEFORE,
  'order: WAITING_FOR_ON_CHAIN_CONFIRMATION --Told--> WAITING_FOR_ON_CHAIN_CONFIRMATION': ACKNOWLEDGED_BEFORE,
  'order: ON_CHAIN_CONFIRMATION --Told--> ON_CHAIN_CONFIRMATION': ACKNOWLEDGED_BEFORE,
  'order: SELLER_OPENED_CHANNEL --Told--> SELLER_OPENED_CHANNEL': ACKNOWLEDGED_BEFORE,
  'order: VALID_CHANNEL_OPENING --Told--> VALID_CHANNEL_OPENING': ACKNOWLEDGED_BEFORE,
  'order: CHANNEL_MONITORING_FINISHED --Told--> CHANNEL_MONITORING_FINISHED': ACKNOWLEDGED_BEFORE,
  'order: BUYER_REJECTED --Told--> BUYER_REJECTED': ACKNOWLEDGED_BEFORE,
  'order: BUYER_FAILED_TO_PAY --Told--> BUYER_FAILED_TO_PAY': ACKNOWLEDGED_BEFORE,
  'order: SELLER_FAILED_TO_OPEN_CHANNEL --Told--> SELLER_FAILED_TO_OPEN_CHANNEL': ACKNOWLEDGED_BEFORE,
  'order: SELLER_FAILED_TO_SEND_SWAP --Told--> SELLER_FAILED_TO_SEND_SWAP': ACKNOWLEDGED_BEFORE,
  'order: INVALID_CHANNEL_OPENING --Told--> INVALID_CHANNEL_OPENING': ACKNOWLEDGED_BEFORE,
  'order: ADMIN_CLOSED --Told--> ADMIN_CLOSED': ACKNOWLEDGED_BEFORE,
  'order: WAITING_FOR_CHANNEL_OPEN --BuyerFailedToPay--> BUYER_FAILED_TO_PAY':
    'If an invoice expires, settlement reports the expiry before a payment of this invoice. Older releases reported the payment first.',
  'quote: QUOTED --QuotePlaced--> PLACED': 'Only older releases recorded that the order of a quote was placed.',
  'match: NONE --ReservationRenewalRefused--> NONE': NEVER_BEGUN,
  'match: UNMATCHED --ReservationRenewalRefused--> UNMATCHED': NEVER_BEGUN,
  'match: RELEASED --ReservationRenewalRefused--> RELEASED': NEVER_BEGUN,
  'match: ASKING_AGAIN --MatchUsed--> USED':
    'An order sends an outpoint to settlement only after the answer to its renewal. It requests no renewal after an outpoint is registered.',
  'hold: NONE --OutpointRegistrationRefused--> NONE': NAMED_LATER,
  'hold: requested --OutpointRegistrationRefused--> requested': NAMED_LATER,
  'hold: open --OutpointRegistrationRefused--> open': NAMED_LATER,
  'hold: NONE --PayoutInvoiceSubmitted--> NONE': HOLD_FIRST,
  'hold: NONE --PayoutInvoiceAccepted--> NONE': HOLD_FIRST,
  'hold: NONE --PayoutInvoiceRefused--> NONE': HOLD_FIRST,
  'channel: STOPPED --LeaseStarted--> LEASED': NEVER_LEASED,
  'channel: LEASED --WatchStopped--> STOPPED': NEVER_LEASED,
  'channel: LEASED --AttestationKept--> LEASED':
    'A settling order accepts no new attestation. It sends earlier attestations to the watcher before it receives `HoldSettled`.',
}
