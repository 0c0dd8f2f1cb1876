import { Fault } from '@penstock/kernel/result.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { getConfiguration, getWalletInfo } from 'lightning'
import type { Connection } from './connection.ts'

/** The hash of a chain's first block, as lnd names chains. */
const NETWORKS: Readonly<Record<string, NodeInfo['network']>> = {
  '6fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000': 'mainnet',
  '43497fd7f826957108f4a30fd9cec3aeba79972084e90ead01ea330900000000': 'testnet',
  f61eee3b63a380a477a063af32b2bbc97c9ff9f01f2c4225e973988108000000: 'signet',
  '06226e46111a0b59caaf126043eb5bbf28c34f3a5e332a1fc7b2b73cf188910f': 'regtest',
}

/** Versions whose standard we know by having run them, where the node does not tell its setting. */
const HOLD_EXPIRY_DELTA: readonly (readonly [version: RegExp, blocks: number])[] = [[/^0\.20\./, 12]]

export async function nodeInfo({ ask }: Connection, holdExpiryDelta: () => Promise<number | null>): Promise<NodeInfo> {
  const [info, delta] = await Promise.all([ask((lnd) => getWalletInfo({ lnd })), holdExpiryDelta()])
  return {
    pubkey: info.public_key,
    alias: info.alias,
    version: info.version,
    network: networkOf(info.chains),
    uris: info.uris ?? [],
    synced: info.is_synced_to_chain,
    height: info.current_block_height,
    holdExpiryDelta: delta,
  }
}

function networkOf(chains: readonly string[]): NodeInfo['network'] {
  const network = chains.flatMap((chain) => NETWORKS[chain] ?? [])[0]
  if (network) return network
  throw new Fault(`lnd is on a chain that Penstock does not know: ${chains.join(', ')}`)
}

/**
 * Blocks before an HTLC's end at which this node gives a held payment back: its own setting where it tells it, else what
 * its version does by standard. Asked for once: it changes with a restart of the node at most.
 */
export function holdExpiryDeltaOf({ ask }: Connection): () => Promise<number | null> {
  let known: { readonly version: string; readonly delta: number | null } | undefined
  return async () => {
    const { version } = await ask((lnd) => getWalletInfo({ lnd }))
    if (known?.version !== version) {
      const set = await ask((lnd) => getConfiguration({ lnd })).catch(() => undefined)
      known = { version, delta: settingOf(set?.options) ?? standardOf(version) }
    }
    return known.delta
  }
}

function settingOf(options: readonly { readonly type: string; readonly value: string }[] | undefined): number | undefined {
  const value = options?.find(({ type }) => type.toLowerCase() === 'invoices.holdexpirydelta')?.value
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

const standardOf = (version: string): number | null => HOLD_EXPIRY_DELTA.find(([known]) => known.test(version))?.[1] ?? null
