import { Fault } from '@penstock/kernel/result.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { getWalletInfo } from 'lightning'
import { networkOfGenesis } from '../shared/genesis.ts'
import type { Connection } from './connection.ts'
import { asked } from './raw-calls.ts'
import { Denied, Refusal } from './refusal.ts'

/** Versions whose standard we know by having run them, where the node does not tell its setting. */
const HOLD_EXPIRY_DELTA: readonly (readonly [version: RegExp, blocks: number])[] = [[/^0\.20\./, 12]]

export async function nodeInfo({ ask }: Connection, holdExpiryDelta: HoldExpiryDelta): Promise<NodeInfo> {
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
  // lnd names a chain by its first block, with the bytes as they go over the wire.
  const network = chains.flatMap((chain) => networkOfGenesis(Buffer.from(chain, 'hex').reverse().toString('hex')) ?? [])[0]
  if (network) return network
  throw new Fault(`lnd is on a chain that Penstock does not know: ${chains.join(', ')}`)
}

type HoldExpiryDelta = (version: string) => Promise<number | null>

/** A restart of the node may change the setting. */
const ASK_AGAIN_MS = 5 * 60_000
const RETRY_MS = 5000
/** Who the node is, and every move of money that asks for that, waits so much longer at most. */
const SETTING_MS = 2000

/**
 * Blocks before an HTLC's end at which this node gives a held payment back: its own setting where it tells it, else what
 * its version does by standard. One that does not answer is not taken for one that keeps to the standard: what it told
 * before counts on, and null where it told nothing. Only new payments depend on it.
 */
export function holdExpiryDeltaOf(node: Connection): HoldExpiryDelta {
  let known: { readonly version: string; readonly delta: number | null; readonly askAgainAt: number } | undefined
  return async (version) => {
    if (known?.version === version && node.clock.monotonicMs() < known.askAgainAt) return known.delta
    const before = known?.version === version ? known.delta : null
    try {
      const delta = settingOf(await within(node.clock, SETTING_MS, settings(node))) ?? standardOf(version)
      known = { version, delta, askAgainAt: node.clock.monotonicMs() + ASK_AGAIN_MS }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      known = { version, delta: before, askAgainAt: node.clock.monotonicMs() + RETRY_MS }
    }
    return known.delta
  }
}

type Settings = Readonly<Record<string, string>>
type Debug = { readonly config?: Settings }
type GetDebugInfo = (request: object, done: (error: object | null, answer?: Debug) => void) => void

/** @returns undefined where the node tells its settings to nobody, or not to us */
async function settings({ ask }: Connection): Promise<Settings | undefined> {
  try {
    const answer = await ask((lnd) => {
      // `lightning` asks for lnd's whole log beside it, and leaves lnd's own calls untyped (lightning.proto: GetDebugInfo).
      const service = lnd.default as { getDebugInfo: GetDebugInfo }
      return asked<Debug>('GetDebugInfo', (done) => service.getDebugInfo({}, done))
    })
    return answer?.config
  } catch (error) {
    if (error instanceof Denied || (error instanceof Refusal && error.code === 501)) return undefined
    throw error
  }
}

/**
 * Whether this node connects through Tor: its own setting, else an .onion address of its own.
 * @returns null where the node does not tell, as it does not answer or its macaroon does not allow the question
 */
export function hasTorOf(node: Connection): () => Promise<boolean | null> {
  let known: { readonly hasTor: boolean | null; readonly askAgainAt: number } | undefined
  return async () => {
    if (known && node.clock.monotonicMs() < known.askAgainAt) return known.hasTor
    const hasTor = await askForTor(node)
    known = { hasTor, askAgainAt: node.clock.monotonicMs() + (hasTor === null ? RETRY_MS : ASK_AGAIN_MS) }
    return hasTor
  }
}

async function askForTor(node: Connection): Promise<boolean | null> {
  try {
    const told = valueOf(await within(node.clock, SETTING_MS, settings(node)), 'tor.active')
    if (told !== undefined) return told === 'true'
    const { uris } = await within(
      node.clock,
      SETTING_MS,
      node.ask((lnd) => getWalletInfo({ lnd })),
    )
    return uris?.some((uri) => /\.onion:\d+$/.test(uri)) ? true : null
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

const valueOf = (settings: Settings | undefined, wanted: string): string | undefined =>
  Object.entries(settings ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1]

function settingOf(settings: Settings | undefined): number | undefined {
  const value = valueOf(settings, 'invoices.holdexpirydelta')
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

const standardOf = (version: string): number | null => HOLD_EXPIRY_DELTA.find(([known]) => known.test(version))?.[1] ?? null
