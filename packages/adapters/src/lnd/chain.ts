import { readHeader } from '@penstock/bitcoin/raw-encoding.ts'
import type { Chain, ChainTip } from '@penstock/ports/chain.ts'
import { getBlock, getBlockHeader, getChainFeeRate, getHeight, getWalletInfo, subscribeToBlocks } from 'lightning'
import { createBlockScanner } from '../blocks/block-scanner.ts'
import { streamChanges } from '../shared/change-stream.ts'
import { createSingleFlight } from '../shared/single-flight.ts'
import type { LndConnection } from './connection.ts'

/** Poll interval in ms. It bounds the delay of a change after the stream has ended unnoticed. */
const POLL_MS = 2000
const BLOCK_TIMEOUT_MS = 120_000
/** Milliseconds for which lnd counts as synced after it was synced to the block that it still reports. */
const SYNC_CACHE_MS = 2000

/**
 * The chain as lnd reports it: every block, but no unconfirmed transactions of others. Outputs are found by scanning the blocks
 * from the height that the caller gives.
 */
export function lndChain(node: LndConnection): Chain {
  const { ask, clock } = node
  const scan = createBlockScanner(
    {
      tipHeight: async () => (await ask((lnd) => getHeight({ lnd }))).current_block_height,
      hashAt: async (height) => readHeader((await ask((lnd) => getBlockHeader({ lnd, height }))).header).hash,
      block: async (id) => (await ask((lnd) => getBlock({ lnd, id }), BLOCK_TIMEOUT_MS)).block,
    },
    clock,
  )
  const tip = createSingleFlight(createTipReader(node))
  return {
    sees: { mempool: false },
    tip,
    output: (outpoint, fromHeight) => scan.output(outpoint, fromHeight),
    enteredMempoolAt: () => Promise.resolve(null),
    tips: (signal) =>
      streamChanges({
        read: tip,
        listen: (onChange, onEnd) => subscribeBlocks(node, onChange, onEnd),
        pollMs: POLL_MS,
        clock,
        signal,
      }),
    async feeRate(targetBlocks) {
      const rate = await ask((lnd) => getChainFeeRate({ lnd, confirmation_target: Math.max(2, targetBlocks) }))
      return Math.max(1, rate.tokens_per_vbyte)
    },
  }
}

/**
 * lnd reports its height at once, but its sync state only after it has collected other data. So the sync state is read only for a
 * new block and at intervals.
 */
function createTipReader({ ask, clock }: LndConnection): () => Promise<ChainTip> {
  let header: KnownHeader | undefined
  let lastSync = { hash: '', synced: false, until: 0 }
  return async () => {
    const { current_block_hash: hash, current_block_height: height } = await ask((lnd) => getHeight({ lnd }))
    const isSyncFresh = lastSync.hash === hash && lastSync.synced && clock.monotonicMs() < lastSync.until
    const [known, synced] = await Promise.all([
      header?.hash === hash
        ? header
        : ask((lnd) => getBlockHeader({ lnd, id: hash })).then((answer) => parseHeader(hash, answer.header)),
      isSyncFresh ? true : ask((lnd) => getWalletInfo({ lnd })).then(({ is_synced_to_chain }) => is_synced_to_chain),
    ])
    header = known
    if (!isSyncFresh) lastSync = { hash, synced, until: clock.monotonicMs() + SYNC_CACHE_MS }
    const { previousHash, time } = header
    return { height, hash, previousHash, time: 1000 * time, synced: lastSync.synced }
  }
}

type KnownHeader = { readonly hash: string; readonly previousHash: string; readonly time: number }

function parseHeader(hash: string, raw: string): KnownHeader {
  const { previousHash, time } = readHeader(raw)
  return { hash, previousHash, time }
}

function subscribeBlocks({ lnd }: LndConnection, onChange: () => void, onEnd: () => void): () => void {
  const blocks = subscribeToBlocks({ lnd: lnd() })
  blocks.on('block', onChange)
  blocks.on('error', onEnd)
  blocks.on('end', onEnd)
  return () => {
    blocks.removeAllListeners('block')
    // A late error without a listener would end the process.
    blocks.on('error', () => undefined)
  }
}
