import { readHeader } from '@penstock/bitcoin/raw.ts'
import type { Chain, ChainTip } from '@penstock/ports/chain.ts'
import { getBlock, getBlockHeader, getChainFeeRate, getHeight, getWalletInfo, subscribeToBlocks } from 'lightning'
import { blockScan } from '../blocks/scan.ts'
import { changing } from '../shared/changing.ts'
import { sharedAnswer } from '../shared/shared-answer.ts'
import type { Connection } from './connection.ts'

/** What a stream that died unnoticed costs at most. */
const POLL_MS = 2000
const BLOCK_MS = 120_000
/** For so long an lnd that has caught up with a block is taken to know no newer one that it has not caught up with. */
const SYNCED_MS = 2000

/**
 * The chain as lnd shows it: every block, and of unconfirmed transactions its own alone. Outputs of others are found by
 * reading the blocks from the height that the caller names.
 */
export function lndChain(node: Connection): Chain {
  const { ask, clock } = node
  const scan = blockScan(
    {
      tipHeight: async () => (await ask((lnd) => getHeight({ lnd }))).current_block_height,
      hashAt: async (height) => readHeader((await ask((lnd) => getBlockHeader({ lnd, height }))).header).hash,
      block: async (id) => (await ask((lnd) => getBlock({ lnd, id }), BLOCK_MS)).block,
    },
    clock,
  )
  const tip = sharedAnswer(lndTip(node))
  return {
    sees: { mempool: false },
    tip,
    output: (outpoint, fromHeight) => scan.output(outpoint, fromHeight),
    enteredMempoolAt: () => Promise.resolve(null),
    tips: (signal) =>
      changing({ read: tip, listen: (knock, ended) => listen(node, knock, ended), pollMs: POLL_MS, clock, signal }),
    async feeRate(targetBlocks) {
      const rate = await ask((lnd) => getChainFeeRate({ lnd, confirmation_target: Math.max(2, targetBlocks) }))
      return Math.max(1, rate.tokens_per_vbyte)
    },
  }
}

/**
 * lnd tells its height at once; whether it has caught up it tells together with much else that it has to look for, so that
 * is asked for with a new block and now and then.
 */
function lndTip({ ask, clock }: Connection): () => Promise<ChainTip> {
  let header: Header | undefined
  let told = { hash: '', synced: false, until: 0 }
  return async () => {
    const { current_block_hash: hash, current_block_height: height } = await ask((lnd) => getHeight({ lnd }))
    const isToldNow = told.hash === hash && told.synced && clock.monotonicMs() < told.until
    const [known, synced] = await Promise.all([
      header?.hash === hash ? header : ask((lnd) => getBlockHeader({ lnd, id: hash })).then((one) => headerOf(hash, one.header)),
      isToldNow ? true : ask((lnd) => getWalletInfo({ lnd })).then(({ is_synced_to_chain }) => is_synced_to_chain),
    ])
    header = known
    if (!isToldNow) told = { hash, synced, until: clock.monotonicMs() + SYNCED_MS }
    const { previousHash, time } = header
    return { height, hash, previousHash, time: 1000 * time, synced: told.synced }
  }
}

type Header = { readonly hash: string; readonly previousHash: string; readonly time: number }

function headerOf(hash: string, raw: string): Header {
  const { previousHash, time } = readHeader(raw)
  return { hash, previousHash, time }
}

function listen({ lnd }: Connection, knock: () => void, ended: () => void): () => void {
  const blocks = subscribeToBlocks({ lnd: lnd() })
  blocks.on('block', knock)
  blocks.on('error', ended)
  blocks.on('end', ended)
  return () => {
    blocks.removeAllListeners('block')
    // A late error without a listener would end the process.
    blocks.on('error', () => undefined)
  }
}
