import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'

/**
 * The calls of lnd that each role makes through the ports, and that its macaroon allows. The tests of a role run with exactly
 * this macaroon.
 */
const BLOCK_CALLS = [
  '/lnrpc.Lightning/GetInfo',
  '/chainrpc.ChainKit/GetBlock',
  '/chainrpc.ChainKit/GetBlockHash',
  '/chainrpc.ChainKit/GetBlockHeader',
  '/chainrpc.ChainNotifier/RegisterBlockEpochNtfn',
  '/walletrpc.WalletKit/EstimateFee',
] as const

const GRAPH_CALLS = ['/lnrpc.Lightning/GetNodeInfo', '/lnrpc.Lightning/GetChanInfo'] as const

/** A macaroon with these calls can spend, because sending along a route can also pay. */
const PROBE_CALLS = [
  '/lnrpc.Lightning/QueryRoutes',
  '/lnrpc.Lightning/ListPayments',
  '/routerrpc.Router/SendToRouteV2',
  '/routerrpc.Router/ResetMissionControl',
] as const

const PEER_CALLS = ['/lnrpc.Lightning/ConnectPeer', '/lnrpc.Lightning/ListPeers'] as const

export const macaroonPermissions = {
  /** Holds, settles and cancels buyers' payments, pays sellers, and proves channels itself. */
  settlement: [
    ...BLOCK_CALLS,
    ...GRAPH_CALLS,
    ...PROBE_CALLS,
    ...PEER_CALLS,
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
  /** Proves channels, and watches them later. */
  'channel-watcher': [...BLOCK_CALLS, ...GRAPH_CALLS, ...PROBE_CALLS],
  /** Only reads, for the gateway, quote, matching and order. */
  reader: [...BLOCK_CALLS, ...GRAPH_CALLS],
  /** Opens the channels that its owner sells, on the node of the owner. */
  'seller-agent': [
    ...BLOCK_CALLS,
    ...PEER_CALLS,
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
} as const satisfies Readonly<Record<MacaroonRole, readonly string[]>>

export const MACAROON_ROLES: readonly MacaroonRole[] = ['settlement', 'channel-watcher', 'reader', 'seller-agent']

/** @returns the permissions of the macaroon that the role does not need, such as the other permissions of an admin macaroon */
export function findExcessPermissions(allowed: readonly string[], role: MacaroonRole): readonly string[] {
  const needed = new Set<string>(macaroonPermissions[role].map((uri) => `uri:${uri}`))
  return allowed.filter((uri) => !needed.has(uri))
}

/** @returns the permissions that the role needs and the macaroon lacks, such as permissions that a later release added */
export const findMissingPermissions = (allowed: readonly string[], role: MacaroonRole): readonly string[] =>
  macaroonPermissions[role].map((uri) => `uri:${uri}`).filter((uri) => !allowed.includes(uri))
