import { Fault } from '@penstock/kernel/result.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { getWalletInfo } from 'lightning'
import { networkOfGenesis } from '../shared/genesis.ts'
import type { LndConnection } from './connection.ts'
import { callGrpc } from './grpc-calls.ts'
import { MacaroonDenied, LndRefusal } from './rpc-errors.ts'

/** Default hold-expiry deltas of the lnd versions that Penstock was tested with, for a node whose setting cannot be read. */
const DEFAULT_HOLD_EXPIRY_DELTAS: readonly (readonly [version: RegExp, blocks: number])[] = [[/^0\.20\./, 12]]

export async function readLndInfo({ ask }: LndConnection, holdExpiryDelta: HoldExpiryDeltaReader): Promise<NodeInfo> {
  const info = await ask((lnd) => getWalletInfo({ lnd }))
  return {
    pubkey: info.public_key,
    alias: info.alias,
    version: info.version,
    network: networkOf(info.chains),
    uris: info.uris ?? [],
    synced: info.is_synced_to_chain,
    graphSynced: info.is_synced_to_graph === true,
    height: info.current_block_height,
    holdExpiryDelta: await holdExpiryDelta(info.version),
  }
}

function networkOf(chains: readonly string[]): NodeInfo['network'] {
  // lnd identifies a chain by the hash of its first block, in the byte order of the wire.
  const network = chains.flatMap((chain) => networkOfGenesis(Buffer.from(chain, 'hex').reverse().toString('hex')) ?? [])[0]
  if (network) return network
  throw new Fault(`lnd is on a chain that Penstock does not know: ${chains.join(', ')}`)
}

type HoldExpiryDeltaReader = (version: string) => Promise<number | null>

/** Milliseconds until the setting is read again, because a restart of the node may change it. */
const CACHE_MS = 5 * 60_000
const RETRY_MS = 5000
/** Maximum delay that reading the setting adds to the node info and to every payment that needs it. */
const SETTING_TIMEOUT_MS = 2000

/**
 * Reads the node's hold-expiry delta from its setting. If the setting cannot be read, the default of the node's version applies.
 * If the node does not answer, the last known delta stays valid, or the result is null. Only new payments depend on the result.
 */
export function createHoldExpiryDeltaReader(node: LndConnection): HoldExpiryDeltaReader {
  let cached: { readonly version: string; readonly delta: number | null; readonly askAgainAt: number } | undefined
  return async (version) => {
    if (cached?.version === version && node.clock.monotonicMs() < cached.askAgainAt) return cached.delta
    const before = cached?.version === version ? cached.delta : null
    try {
      const delta =
        parseHoldExpiryDelta(await withTimeout(node.clock, SETTING_TIMEOUT_MS, readSettings(node))) ??
        defaultHoldExpiryDeltaOf(version)
      cached = { version, delta, askAgainAt: node.clock.monotonicMs() + CACHE_MS }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      cached = { version, delta: before, askAgainAt: node.clock.monotonicMs() + RETRY_MS }
    }
    return cached.delta
  }
}

type LndSettings = Readonly<Record<string, string>>
type DebugInfo = { readonly config?: LndSettings }
type GetDebugInfo = (request: object, done: (error: object | null, answer?: DebugInfo) => void) => void

/** @returns undefined if the node lacks the call, or the macaroon does not allow it */
async function readSettings({ ask }: LndConnection): Promise<LndSettings | undefined> {
  try {
    const answer = await ask((lnd) => {
      // `lightning` would fetch the whole log of lnd too, and leaves raw lnd calls untyped (lightning.proto: GetDebugInfo).
      const service = lnd.default as { getDebugInfo: GetDebugInfo }
      return callGrpc<DebugInfo>('GetDebugInfo', (done) => service.getDebugInfo({}, done))
    })
    return answer?.config
  } catch (error) {
    if (error instanceof MacaroonDenied || (error instanceof LndRefusal && error.code === 501)) return undefined
    throw error
  }
}

/**
 * Whether this node connects through Tor, by its setting or else by its own .onion address.
 * @returns null if unknown: the node does not answer, or the setting cannot be read and the node has no such address
 */
export function createTorCheck(node: LndConnection): () => Promise<boolean | null> {
  let cached: { readonly hasTor: boolean | null; readonly askAgainAt: number } | undefined
  return async () => {
    if (cached && node.clock.monotonicMs() < cached.askAgainAt) return cached.hasTor
    const hasTor = await readHasTor(node)
    cached = { hasTor, askAgainAt: node.clock.monotonicMs() + (hasTor === null ? RETRY_MS : CACHE_MS) }
    return hasTor
  }
}

async function readHasTor(node: LndConnection): Promise<boolean | null> {
  try {
    const setting = findSetting(await withTimeout(node.clock, SETTING_TIMEOUT_MS, readSettings(node)), 'tor.active')
    if (setting !== undefined) return setting === 'true'
    const { uris } = await withTimeout(
      node.clock,
      SETTING_TIMEOUT_MS,
      node.ask((lnd) => getWalletInfo({ lnd })),
    )
    return uris?.some((uri) => /\.onion:\d+$/.test(uri)) ? true : null
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

const findSetting = (settings: LndSettings | undefined, key: string): string | undefined =>
  Object.entries(settings ?? {}).find(([name]) => name.toLowerCase() === key)?.[1]

function parseHoldExpiryDelta(settings: LndSettings | undefined): number | undefined {
  const value = findSetting(settings, 'invoices.holdexpirydelta')
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

const defaultHoldExpiryDeltaOf = (version: string): number | null =>
  DEFAULT_HOLD_EXPIRY_DELTAS.find(([known]) => known.test(version))?.[1] ?? null
