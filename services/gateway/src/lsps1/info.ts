import { parseConnectionUri } from '@penstock/bitcoin/pubkey.ts'
import { computePurchaseBounds } from '@penstock/market/market.ts'
import { isIPv4 } from 'node:net'
import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import type { Gateway } from '../ports.ts'
import { readBookEntries, type LspType, createGenericRequest, type NodeSources, readPricing } from './book.ts'
import { publishSellers } from './published-sellers.ts'
import { type LspFault, clientRejected } from './faults.ts'
import { type LspInfo, MIN_CONFIRMATIONS } from './schemas.ts'

export async function getInfo(gateway: Gateway, nodeSources: NodeSources, type: LspType): Promise<LspInfo | LspFault> {
  const entries = await runWithLowPriority(() => readBookEntries(gateway))
  const pricing = await readPricing(gateway, nodeSources, entries)
  const sellers = await publishSellers(gateway, nodeSources.peers, type, { entries, pricing })
  const bounds = computePurchaseBounds(
    entries,
    createGenericRequest(
      gateway,
      sellers.map(({ pubkey }) => pubkey),
    ),
    pricing,
  )
  if (!bounds) return clientRejected('No live seller can serve an order now; try again later.')
  const [min, max] = [`${bounds.minSizeSat}`, `${bounds.maxSizeSat}`]
  return {
    min_required_channel_confirmations: MIN_CONFIRMATIONS,
    min_funding_confirms_within_blocks: gateway.config.fundingConfirmsWithinBlocks,
    supports_zero_channel_reserve: false,
    max_channel_expiry_blocks: gateway.config.maxChannelExpiryBlocks,
    min_initial_client_balance_sat: '0',
    max_initial_client_balance_sat: '0',
    min_initial_lsp_balance_sat: min,
    max_initial_lsp_balance_sat: max,
    min_channel_balance_sat: min,
    max_channel_balance_sat: max,
    uris: sortByReachability(sellers.flatMap(({ uris }) => uris)),
  }
}

/** Most wallets use only the first address. All wallets can use IPv4, many can resolve a name, some have IPv6, few have Tor. */
const sortByReachability = (uris: readonly string[]): string[] => uris.toSorted((a, b) => rankUri(a) - rankUri(b))

function rankUri(uri: string): number {
  const host = parseConnectionUri(uri)?.host ?? ''
  if (host.endsWith('.onion')) return 3
  if (host.startsWith('[')) return 2
  return isIPv4(host) ? 0 : 1
}
