/**
 * What each part of the market asks of an lnd, call by call: its macaroon allows that and nothing else. A list is what
 * the part calls through the ports, found by its tests with that very macaroon.
 */
const SEES_BLOCKS = [
  '/lnrpc.Lightning/GetInfo',
  '/chainrpc.ChainKit/GetBlock',
  '/chainrpc.ChainKit/GetBlockHash',
  '/chainrpc.ChainKit/GetBlockHeader',
  '/chainrpc.ChainNotifier/RegisterBlockEpochNtfn',
  '/walletrpc.WalletKit/EstimateFee',
] as const

const SEES_GRAPH = ['/lnrpc.Lightning/GetNodeInfo', '/lnrpc.Lightning/GetChanInfo'] as const

/** Whoever may send along a route may also pay along it: a macaroon with these can spend. */
const PROBES = [
  '/lnrpc.Lightning/QueryRoutes',
  '/lnrpc.Lightning/ListPayments',
  '/routerrpc.Router/SendToRouteV2',
  '/routerrpc.Router/ResetMissionControl',
] as const

const CONNECTS = ['/lnrpc.Lightning/ConnectPeer', '/lnrpc.Lightning/ListPeers'] as const

export const permissions = {
  /** Takes, settles and gives back what buyers pay, pays sellers, and proves channels for itself. */
  settlement: [
    ...SEES_BLOCKS,
    ...SEES_GRAPH,
    ...PROBES,
    ...CONNECTS,
    '/lnrpc.Lightning/GetDebugInfo',
    '/invoicesrpc.Invoices/AddHoldInvoice',
    '/invoicesrpc.Invoices/SettleInvoice',
    '/invoicesrpc.Invoices/CancelInvoice',
    '/invoicesrpc.Invoices/SubscribeSingleInvoice',
    '/lnrpc.Lightning/LookupInvoice',
    '/lnrpc.Lightning/ListInvoices',
    '/lnrpc.Lightning/ListChannels',
    '/lnrpc.Lightning/PendingChannels',
    '/lnrpc.Lightning/ClosedChannels',
    '/routerrpc.Router/SendPaymentV2',
    '/routerrpc.Router/TrackPaymentV2',
  ],
  /** Proves channels, and watches them afterwards. */
  'channel-watcher': [...SEES_BLOCKS, ...SEES_GRAPH, ...PROBES],
  /** Reads only: the gateway, quote, matching and order. */
  reader: [...SEES_BLOCKS, ...SEES_GRAPH],
  /** Opens what its owner sells, on the owner's own node. */
  'seller-agent': [
    ...SEES_BLOCKS,
    ...CONNECTS,
    '/lnrpc.Lightning/GetDebugInfo',
    '/lnrpc.Lightning/GetNodeInfo',
    '/lnrpc.Lightning/SignMessage',
    '/lnrpc.Lightning/AddInvoice',
    '/lnrpc.Lightning/LookupInvoice',
    '/lnrpc.Lightning/ListChannels',
    '/lnrpc.Lightning/ClosedChannels',
    '/lnrpc.Lightning/PendingChannels',
    '/lnrpc.Lightning/SubscribeChannelEvents',
    '/lnrpc.Lightning/OpenChannel',
    '/lnrpc.Lightning/FundingStateStep',
    '/lnrpc.Lightning/AbandonChannel',
    '/lnrpc.Lightning/CloseChannel',
    '/walletrpc.WalletKit/ListUnspent',
    '/walletrpc.WalletKit/FundPsbt',
    '/walletrpc.WalletKit/FinalizePsbt',
    '/walletrpc.WalletKit/LeaseOutput',
    '/walletrpc.WalletKit/ReleaseOutput',
    '/walletrpc.WalletKit/ListLeases',
    '/walletrpc.WalletKit/PublishTransaction',
    '/walletrpc.WalletKit/GetTransaction',
    '/walletrpc.WalletKit/BumpFee',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Whom a macaroon is baked for. */
export type Role = keyof typeof permissions
export const ROLES: readonly Role[] = ['settlement', 'channel-watcher', 'reader', 'seller-agent']

/** All services of a market in one process: what settlement may, since the others read a part of that. */
const MARKET: Role = 'settlement'

/** The role of a process of the market. */
export const roleOf = (process: string): Role =>
  process === 'channel-watcher' || process === 'seller-agent'
    ? process
    : process === 'settlement' || process === 'standalone'
      ? MARKET
      : 'reader'
