import { createMachine } from 'xstate'

// What may arrive in almost any status of an order, and changes none.
const payout = ['PayoutInvoiceOffered', 'PayoutInvoiceTaken', 'PayoutInvoiceRefused'] as const
const anywhere = [...payout, 'Told'] as const
const offering = ['OutpointOffered', 'OutpointClaimed', 'OutpointRefused', 'AttestationGiven'] as const

const stay = (status: string, types: readonly string[]) => Object.fromEntries(types.map((type) => [type, status]))
/** An ending without success still takes down what comes late, and who was told of it where anybody has to be. */
const ended = (status: string, ...also: readonly 'Told'[]) => ({ [status]: { on: stay(status, [...also, 'LateNoted']) } })

/**
 * Which fact may follow in which status of an order. A release that was asked for changes no status:
 * the ending follows once the node has cancelled the hold.
 */
export const orderMachine = createMachine({
  id: 'order',
  initial: 'NONE',
  states: {
    NONE: { on: { OrderPlaced: 'WAITING_FOR_SELLER_APPROVAL' } },
    WAITING_FOR_SELLER_APPROVAL: {
      on: {
        ...stay('WAITING_FOR_SELLER_APPROVAL', [...payout, 'SellerAccepted']),
        HoldIssued: 'WAITING_FOR_BUYER_PAYMENT',
        SellerRejected: 'SELLER_REJECTED',
        SellerFailedToReact: 'SELLER_FAILED_TO_REACT',
        BuyerRejected: 'BUYER_REJECTED',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    WAITING_FOR_BUYER_PAYMENT: {
      on: {
        ...stay('WAITING_FOR_BUYER_PAYMENT', [...anywhere, 'PaymentHeld', 'SearchFailed', 'ReleaseRequested', 'LateNoted']),
        AttemptStarted: 'WAITING_FOR_CHANNEL_OPEN',
        SellerRejected: 'SELLER_REJECTED',
        BuyerRejected: 'BUYER_REJECTED',
        BuyerFailedToPay: 'BUYER_FAILED_TO_PAY',
        // held, and the last height comes before any seller has the capacity
        SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    WAITING_FOR_CHANNEL_OPEN: {
      on: {
        ...stay('WAITING_FOR_CHANNEL_OPEN', [
          ...anywhere,
          ...offering,
          'AttemptStarted',
          'OpeningAsked',
          'UnreachableReported',
          'AttemptFailed',
          'SearchFailed',
          'LateOutpointOffered',
          'CapacityRereserved',
          'ReleaseRequested',
        ]),
        OutpointNamed: 'SELLER_SENT_TRANSACTION',
        SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        // the invoice had expired when the payment came, and that was told late
        BuyerFailedToPay: 'BUYER_FAILED_TO_PAY',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    SELLER_SENT_TRANSACTION: {
      on: {
        ...stay('SELLER_SENT_TRANSACTION', [...anywhere, ...offering, 'ChannelFoundWrong', 'ReleaseRequested', 'OutpointNamed']),
        FundingSeen: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
        ChannelOpened: 'SELLER_OPENED_CHANNEL',
        SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
        InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    WAITING_FOR_ON_CHAIN_CONFIRMATION: {
      on: {
        ...stay('WAITING_FOR_ON_CHAIN_CONFIRMATION', [
          ...anywhere,
          'AttestationGiven',
          'OutpointRefused',
          'ChannelFoundWrong',
          'ReleaseRequested',
        ]),
        // settlement noted another outpoint just before the old one was seen: what it noted is what it proves
        OutpointNamed: 'SELLER_SENT_TRANSACTION',
        FundingConfirmed: 'ON_CHAIN_CONFIRMATION',
        ChannelOpened: 'SELLER_OPENED_CHANNEL',
        SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
        InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    ON_CHAIN_CONFIRMATION: {
      on: {
        ...stay('ON_CHAIN_CONFIRMATION', [
          ...anywhere,
          'AttestationGiven',
          'OutpointRefused',
          'ChannelFoundWrong',
          'ReleaseRequested',
          'FundingConfirmed',
        ]),
        OutpointNamed: 'SELLER_SENT_TRANSACTION',
        FundingReorged: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
        ChannelOpened: 'SELLER_OPENED_CHANNEL',
        SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
        InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    SELLER_OPENED_CHANNEL: {
      on: {
        ...stay('SELLER_OPENED_CHANNEL', [
          ...anywhere,
          'AttestationGiven',
          'OutpointRefused',
          'ChannelFoundWrong',
          'ReleaseRequested',
          'FundingConfirmed',
          'SettlingStarted',
          'LateNoted',
        ]),
        OutpointNamed: 'SELLER_SENT_TRANSACTION',
        FundingReorged: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
        OrderValid: 'VALID_CHANNEL_OPENING',
        SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
        InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
        AdminClosed: 'ADMIN_CLOSED',
      },
    },
    VALID_CHANNEL_OPENING: {
      on: {
        ...stay('VALID_CHANNEL_OPENING', [...anywhere, 'FundingConfirmed', 'PayoutNoted', 'LateNoted']),
        MonitoringFinished: 'CHANNEL_MONITORING_FINISHED',
      },
    },
    CHANNEL_MONITORING_FINISHED: { on: stay('CHANNEL_MONITORING_FINISHED', [...anywhere, 'PayoutNoted', 'LateNoted']) },
    ...ended('SELLER_REJECTED'),
    ...ended('SELLER_FAILED_TO_REACT'),
    ...ended('BUYER_REJECTED', 'Told'),
    ...ended('BUYER_FAILED_TO_PAY', 'Told'),
    ...ended('SELLER_FAILED_TO_OPEN_CHANNEL', 'Told'),
    ...ended('SELLER_FAILED_TO_SEND_SWAP', 'Told'),
    ...ended('INVALID_CHANNEL_OPENING', 'Told'),
    ...ended('ADMIN_CLOSED', 'Told'),
  },
})
