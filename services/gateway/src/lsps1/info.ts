import { boundsOf } from '@penstock/market/market.ts'
import type { Gateway } from '../ports.ts'
import { bookEntries, type LspType, openWish, type Outside, pricingOf } from './book.ts'
import { namedNow } from './epochs.ts'
import { type Fault, rejected } from './faults.ts'
import type { LspInfo } from './schemas.ts'

/** No channel counts as open before it has a confirmation. */
export const MIN_CONFIRMATIONS = 1

export async function getInfo(gateway: Gateway, outside: Outside, type: LspType): Promise<LspInfo | Fault> {
  const entries = await bookEntries(gateway)
  const pricing = await pricingOf(gateway, outside, entries)
  const named = await namedNow(gateway, outside.peers, type, { entries, pricing })
  const bounds = boundsOf(
    entries,
    openWish(
      gateway,
      named.map(({ pubkey }) => pubkey),
    ),
    pricing,
  )
  if (!bounds) return rejected('No live seller can serve an order now; try again later.')
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
    uris: clearnetFirst(named.flatMap(({ uris }) => uris)),
  }
}

/** Most wallets try the first address, and few of them speak Tor. */
const clearnetFirst = (uris: readonly string[]): string[] => uris.toSorted((a, b) => Number(isOnion(a)) - Number(isOnion(b)))

const isOnion = (uri: string): boolean => /\.onion:\d+$/.test(uri)
