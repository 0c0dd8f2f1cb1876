import type { OrderFact } from '../order.ts'

/** Statuses of an order in the order in which a sale passes through them. */
const saleStatuses = [
  'WAITING_FOR_SELLER_APPROVAL',
  'WAITING_FOR_BUYER_PAYMENT',
  'WAITING_FOR_CHANNEL_OPEN',
  'SELLER_SENT_TRANSACTION',
  'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  'ON_CHAIN_CONFIRMATION',
  'SELLER_OPENED_CHANNEL',
  'VALID_CHANNEL_OPENING',
  'CHANNEL_MONITORING_FINISHED',
] as const

export type SaleStatus = (typeof saleStatuses)[number]

/** Final statuses without a channel. The buyer has not paid, or has the payment back. */
const failureStatuses = [
  'SELLER_REJECTED',
  'SELLER_FAILED_TO_REACT',
  'BUYER_REJECTED',
  'BUYER_FAILED_TO_PAY',
  'SELLER_FAILED_TO_OPEN_CHANNEL',
  'SELLER_FAILED_TO_SEND_SWAP',
  'INVALID_CHANNEL_OPENING',
  'ADMIN_CLOSED',
] as const

export const orderStatuses = [...saleStatuses, ...failureStatuses] as const
export type OrderStatus = (typeof orderStatuses)[number]

/** The first four wait: for the seller's answer, the payment, the seller's transaction or the chain. The last two are final. */
export type OrderPhase = 'approval' | 'payment' | 'opening' | 'funding' | 'sold' | 'failed'

type FactType = OrderFact['type']

type StatusRules = {
  readonly phase: OrderPhase
  /** The buyer waits for no further step. */
  readonly isFinal: boolean
  /** bLIP-51's order_state for this status. COMPLETED means that the funding was published. */
  readonly lsps1: 'CREATED' | 'COMPLETED' | 'FAILED'
  /** The facts that may follow, each with the status after it. */
  readonly on: Readonly<Partial<Record<FactType, OrderStatus>>>
}

const stay = (status: OrderStatus, ...types: readonly FactType[]): StatusRules['on'] =>
  Object.fromEntries(types.map((type) => [type, status]))

// These facts may follow in almost any status, and do not change it.
const payout = ['PayoutInvoiceSubmittedRecorded', 'PayoutInvoiceAcceptedRecorded', 'PayoutInvoiceRefusedRecorded'] as const
const anywhere = [...payout, 'Told'] as const
const offering = ['OutpointSubmitted', 'OutpointClaimedRecorded', 'OutpointRefused', 'AttestationGiven'] as const
const defects = ['FundingLostRecorded', 'ChannelFoundInvalid'] as const
const proving = ['AttestationGiven', 'OutpointRefused', ...defects, 'ReleaseRequested'] as const

/** A failed order still records late messages. Earlier versions recorded acknowledgements too (`Told`). */
const failure = (status: OrderStatus, ...also: readonly 'Told'[]): StatusRules => ({
  phase: 'failed',
  isFinal: true,
  lsps1: 'FAILED',
  on: stay(status, ...also, 'LateMessageRecorded'),
})

/**
 * The only table of an order's statuses. A requested release does not change the status. The final status follows once the
 * node has cancelled the hold.
 */
export const orderStatusRules: Readonly<Record<OrderStatus, StatusRules>> = {
  WAITING_FOR_SELLER_APPROVAL: {
    phase: 'approval',
    isFinal: false,
    lsps1: 'CREATED',
    on: {
      ...stay('WAITING_FOR_SELLER_APPROVAL', ...payout, 'SellerAccepted'),
      HoldIssuedRecorded: 'WAITING_FOR_BUYER_PAYMENT',
      SellerRejected: 'SELLER_REJECTED',
      SellerFailedToReact: 'SELLER_FAILED_TO_REACT',
      BuyerRejected: 'BUYER_REJECTED',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  WAITING_FOR_BUYER_PAYMENT: {
    phase: 'payment',
    isFinal: false,
    lsps1: 'CREATED',
    on: {
      ...stay('WAITING_FOR_BUYER_PAYMENT', ...anywhere, 'PaymentHeld', 'SearchFailed', 'ReleaseRequested', 'LateMessageRecorded'),
      AttemptStarted: 'WAITING_FOR_CHANNEL_OPEN',
      SellerRejected: 'SELLER_REJECTED',
      BuyerRejected: 'BUYER_REJECTED',
      BuyerFailedToPay: 'BUYER_FAILED_TO_PAY',
      // No seller has the capacity until the last height of the held payment.
      SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  WAITING_FOR_CHANNEL_OPEN: {
    phase: 'opening',
    isFinal: false,
    lsps1: 'CREATED',
    on: {
      ...stay(
        'WAITING_FOR_CHANNEL_OPEN',
        ...anywhere,
        ...offering,
        'AttemptStarted',
        'ChannelOpenRequested',
        'UnreachableReported',
        'AttemptFailed',
        'SearchFailed',
        'LateOutpointSubmitted',
        'ReservationRenewedRecorded',
        'ReleaseRequested',
      ),
      OutpointAccepted: 'SELLER_SENT_TRANSACTION',
      SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
      // The payment arrived after the invoice had expired, and the report of the expiry was late.
      BuyerFailedToPay: 'BUYER_FAILED_TO_PAY',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  SELLER_SENT_TRANSACTION: {
    phase: 'funding',
    isFinal: false,
    lsps1: 'CREATED',
    on: {
      ...stay('SELLER_SENT_TRANSACTION', ...anywhere, ...offering, ...defects, 'ReleaseRequested', 'OutpointAccepted'),
      FundingSeenRecorded: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
      ChannelOpened: 'SELLER_OPENED_CHANNEL',
      SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
      InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  WAITING_FOR_ON_CHAIN_CONFIRMATION: {
    phase: 'funding',
    isFinal: false,
    lsps1: 'COMPLETED',
    on: {
      ...stay('WAITING_FOR_ON_CHAIN_CONFIRMATION', ...anywhere, ...proving),
      // Settlement recorded another outpoint just before the old outpoint was seen. It then proves the recorded outpoint.
      OutpointAccepted: 'SELLER_SENT_TRANSACTION',
      FundingConfirmedRecorded: 'ON_CHAIN_CONFIRMATION',
      ChannelOpened: 'SELLER_OPENED_CHANNEL',
      SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
      InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  ON_CHAIN_CONFIRMATION: {
    phase: 'funding',
    isFinal: false,
    lsps1: 'COMPLETED',
    on: {
      ...stay('ON_CHAIN_CONFIRMATION', ...anywhere, ...proving, 'FundingConfirmedRecorded'),
      OutpointAccepted: 'SELLER_SENT_TRANSACTION',
      FundingReorgedRecorded: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
      ChannelOpened: 'SELLER_OPENED_CHANNEL',
      SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
      SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
      InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  SELLER_OPENED_CHANNEL: {
    phase: 'funding',
    isFinal: false,
    lsps1: 'COMPLETED',
    on: {
      ...stay(
        'SELLER_OPENED_CHANNEL',
        ...anywhere,
        ...proving,
        'FundingConfirmedRecorded',
        'SettlingStarted',
        'LateMessageRecorded',
      ),
      OutpointAccepted: 'SELLER_SENT_TRANSACTION',
      FundingReorgedRecorded: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
      OrderValid: 'VALID_CHANNEL_OPENING',
      SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
      SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
      InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
      AdminClosed: 'ADMIN_CLOSED',
    },
  },
  VALID_CHANNEL_OPENING: {
    phase: 'sold',
    isFinal: true,
    lsps1: 'COMPLETED',
    on: {
      ...stay('VALID_CHANNEL_OPENING', ...anywhere, 'FundingConfirmedRecorded', 'PayoutStatusRecorded', 'LateMessageRecorded'),
      MonitoringFinished: 'CHANNEL_MONITORING_FINISHED',
    },
  },
  CHANNEL_MONITORING_FINISHED: {
    phase: 'sold',
    isFinal: true,
    lsps1: 'COMPLETED',
    on: stay('CHANNEL_MONITORING_FINISHED', ...anywhere, 'PayoutStatusRecorded', 'LateMessageRecorded'),
  },
  SELLER_REJECTED: failure('SELLER_REJECTED'),
  SELLER_FAILED_TO_REACT: failure('SELLER_FAILED_TO_REACT'),
  BUYER_REJECTED: failure('BUYER_REJECTED', 'Told'),
  BUYER_FAILED_TO_PAY: failure('BUYER_FAILED_TO_PAY', 'Told'),
  SELLER_FAILED_TO_OPEN_CHANNEL: failure('SELLER_FAILED_TO_OPEN_CHANNEL', 'Told'),
  SELLER_FAILED_TO_SEND_SWAP: failure('SELLER_FAILED_TO_SEND_SWAP', 'Told'),
  INVALID_CHANNEL_OPENING: failure('INVALID_CHANNEL_OPENING', 'Told'),
  ADMIN_CLOSED: failure('ADMIN_CLOSED', 'Told'),
}

/** The only fact with which an order may begin. */
export const firstOrderFact = { OrderPlaced: 'WAITING_FOR_SELLER_APPROVAL' } as const satisfies StatusRules['on']

/** Readers of an older release may get an unknown status. */
const rulesOf = (status: string): StatusRules | undefined => orderStatusRules[status as OrderStatus] // Undefined if unknown.

/** @returns undefined for a status of a newer release */
export const phaseOf = (status: string): OrderPhase | undefined => rulesOf(status)?.phase
export const isFailure = (status: string): boolean => phaseOf(status) === 'failed'
export const isSale = (status: string): boolean => phaseOf(status) === 'sold'
/** Whether the buyer's payment can still be held or settled. */
export const isOpenStatus = (status: string): boolean => rulesOf(status)?.isFinal === false
/** Whether the funding was published, as bLIP-51 defines it. */
export const isPublishedStatus = (status: string): boolean => rulesOf(status)?.lsps1 === 'COMPLETED'

/** By fact type: the status to which the fact changes another status. Each fact type has at most one such status. */
const changes: ReadonlyMap<string, OrderStatus> = new Map(
  Object.entries(orderStatusRules).flatMap(([from, { on }]) => Object.entries(on).filter(([, to]) => to !== from)),
)

/**
 * @returns the status after a fact. Most facts do not change it. A view may not know the previous status, such as a status
 * of a newer release. It then gets a known status from the next fact that changes the status.
 */
export const evolveOrderStatus = (before: OrderStatus | undefined, type: FactType): OrderStatus =>
  (before && rulesOf(before)?.on[type]) ?? changes.get(type) ?? before ?? firstOrderFact.OrderPlaced

const failing: ReadonlySet<string> = new Set(
  Object.values(orderStatusRules).flatMap(({ phase, on }) =>
    phase === 'failed' ? [] : Object.entries(on).flatMap(([type, status]) => (isFailure(status) ? [type] : [])),
  ),
)
/** Whether the fact ends the order without a channel. */
export const isFailureFact = (type: FactType): boolean => failing.has(type)
