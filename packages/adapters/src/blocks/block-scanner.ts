import { type Outpoint, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readBlock, type RawBlock } from '@penstock/bitcoin/raw-encoding.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { ChainOutput } from '@penstock/ports/chain.ts'

/** A node that serves blocks and has no index of outputs. */
export type BlockSource = {
  tipHeight(): Promise<number>
  /** The hash of a block in the best chain. */
  hashAt(height: number): Promise<string>
  /** The block in hex. */
  block(hash: string): Promise<string>
}

type OutputLocation = { readonly valueSat: bigint; readonly script: string; readonly height: number; readonly txIndex: number }
type WatchedOutput = {
  readonly outpoint: Outpoint
  /** The lowest height that was not scanned yet. */
  nextHeight: number
  readonly fromHeight: number
  location: OutputLocation | undefined
  spentBy: { readonly txid: string; readonly height: number } | undefined
  lastAskedAt: number
}

/** Milliseconds without a lookup after which the scanner drops an output. Callers look up outputs in use more often. */
const WATCH_EXPIRY_MS = DAY_MS
/** A block that was read. A later lookup skips the block if `shortTxids` lacks the transaction of its outpoint. */
type ReadBlock = { readonly hash: string; readonly previousHash: string; readonly shortTxids: Float64Array }

/**
 * Number of read blocks in memory: about two days, more than a re-organisation replaces. Older blocks count as final. The txids
 * of 288 full blocks take about 20 MB.
 */
const MAX_READ_BLOCKS = 288

/**
 * Finds confirmed outputs and their spends. It reads every block from the given height on, once for all concurrent lookups. It
 * keeps the results, and rolls them back if a re-organisation replaces the blocks.
 */
export function createBlockScanner(source: BlockSource, clock: Clock) {
  const watched = new Map<string, WatchedOutput>()
  /** Blocks that any lookup has read, by height. Adjacent blocks belong to one chain. */
  const known = new Map<number, ReadBlock>()
  let reading: Promise<number> | undefined

  /** @returns undefined if the best chain has no such output from that height on */
  async function output(text: string, fromHeight: number): Promise<ChainOutput | undefined> {
    // A read in progress may have fetched an older tip, so this lookup waits for the next read.
    await reading?.catch(() => undefined)
    for (;;) {
      const watchedOutput = watchOutput(watched, text, fromHeight, clock.monotonicMs())
      if (!watchedOutput) return undefined
      reading ??= readNextBlock().finally(() => (reading = undefined))
      if (watchedOutput.nextHeight > (await reading)) return toOutput(text, watchedOutput)
    }
  }

  /**
   * Reads at most one block: the next block of the lookup that has the fewest blocks left.
   * @returns the tip up to which every lookup has to scan; infinity after a roll-back, so that no lookup counts as finished
   */
  async function readNextBlock(): Promise<number> {
    dropExpired(watched, clock.monotonicMs() - WATCH_EXPIRY_MS)
    const tip = await source.tipHeight()
    await rollBack(source, known, watched, tip, Math.max(-1, ...known.keys()))
    skipReadBlocks(watched.values(), known)
    const height = chooseHeight(watched.values(), tip)
    if (height === undefined) return tip
    const hash = await source.hashAt(height)
    const block = readBlock(await source.block(hash))
    // A mismatch means a re-organisation: during this read, or since another lookup read an adjacent block.
    const links = [
      [height + 1, known.get(height + 1)?.previousHash, hash],
      [height, known.get(height)?.hash, hash],
      [height - 1, known.get(height - 1)?.hash, block.previousHash],
    ] as const
    for (const [at, expected, actual] of links)
      if (expected !== undefined && expected !== actual) {
        await rollBack(source, known, watched, tip, at)
        return Number.POSITIVE_INFINITY
      }
    for (const watchedOutput of watched.values())
      if (watchedOutput.nextHeight === height) applyBlock(watchedOutput, block, height)
    known.set(height, { hash, previousHash: block.previousHash, shortTxids: collectShortTxids(block) })
    known.delete(height - MAX_READ_BLOCKS)
    return tip
  }
  return { output }
}

/** Advances each lookup past the newest contiguous blocks that were read and lack its transaction. */
function skipReadBlocks(watched: Iterable<WatchedOutput>, known: ReadonlyMap<number, ReadBlock>): void {
  const top = Math.max(-1, ...known.keys())
  let lowest = top + 1
  while (known.has(lowest - 1)) lowest--
  for (const watchedOutput of watched)
    while (
      watchedOutput.nextHeight >= lowest &&
      watchedOutput.nextHeight <= top &&
      known.get(watchedOutput.nextHeight)?.shortTxids.includes(shortenTxid(watchedOutput.outpoint.txid)) === false
    )
      watchedOutput.nextHeight++
}

/**
 * Shortened txids of the block's transactions, and of the transactions whose outputs they spend. A collision only costs one more
 * read of the block.
 */
const collectShortTxids = ({ transactions }: RawBlock): Float64Array =>
  Float64Array.from(
    new Set(
      transactions.flatMap((transaction) => [
        shortenTxid(transaction.txid),
        ...transaction.inputs.map((input) => shortenTxid(input.txid)),
      ]),
    ),
  )

const shortenTxid = (txid: string): number => Number.parseInt(txid.slice(0, 12), 16)

/**
 * Chooses the next height of the lookup that has the fewest blocks left. A lookup of a new outpoint then does not wait for a
 * lookup that starts a year back. Lookups of about the same length share reads, at most three times the reads of the longest.
 */
function chooseHeight(watched: Iterable<WatchedOutput>, tip: number): number | undefined {
  let needed: { readonly next: number; readonly size: number } | undefined
  for (const { nextHeight } of watched) {
    if (nextHeight > tip) continue
    const size = Math.floor(Math.log2(tip - nextHeight + 1))
    if (!needed || size < needed.size || (size === needed.size && nextHeight < needed.next)) needed = { next: nextHeight, size }
  }
  return needed?.next
}

function watchOutput(
  watched: Map<string, WatchedOutput>,
  text: string,
  fromHeight: number,
  now: number,
): WatchedOutput | undefined {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return undefined
  const from = Math.max(0, fromHeight)
  const known = watched.get(text)
  if (known && (known.location || known.fromHeight <= from)) {
    known.lastAskedAt = now
    return known
  }
  const watchedOutput: WatchedOutput = {
    outpoint,
    fromHeight: from,
    nextHeight: from,
    location: undefined,
    spentBy: undefined,
    lastAskedAt: now,
  }
  watched.set(text, watchedOutput)
  return watchedOutput
}

function dropExpired(watched: Map<string, WatchedOutput>, before: number): void {
  for (const [text, { lastAskedAt }] of watched) if (lastAskedAt < before) watched.delete(text)
}

function applyBlock(watchedOutput: WatchedOutput, { transactions }: RawBlock, height: number): void {
  watchedOutput.nextHeight = height + 1
  const { txid, vout } = watchedOutput.outpoint
  transactions.forEach((transaction, txIndex) => {
    const output = transaction.txid === txid ? transaction.outputs[vout] : undefined
    if (output) watchedOutput.location = { ...output, height, txIndex }
    if (transaction.inputs.some((input) => input.vout === vout && input.txid === txid))
      watchedOutput.spentBy = { txid: transaction.txid, height }
  })
}

/**
 * Descends from the block at `from` to the highest read block that is still in the best chain. Discards all results above that
 * block. Stops at a height that was not read; a later read that continues from there checks the blocks below.
 */
async function rollBack(
  source: BlockSource,
  known: Map<number, ReadBlock>,
  watched: ReadonlyMap<string, WatchedOutput>,
  tip: number,
  from: number,
): Promise<void> {
  let top = from
  for (; known.has(top); top--) if (top <= tip && (await source.hashAt(top)) === known.get(top)?.hash) break
  if (top === from) return
  for (const height of known.keys()) if (height > top) known.delete(height)
  for (const watchedOutput of watched.values()) {
    if (watchedOutput.nextHeight <= top + 1) continue
    watchedOutput.nextHeight = Math.max(watchedOutput.fromHeight, top + 1)
    if (watchedOutput.location && watchedOutput.location.height >= watchedOutput.nextHeight) watchedOutput.location = undefined
    if (watchedOutput.spentBy && watchedOutput.spentBy.height >= watchedOutput.nextHeight) watchedOutput.spentBy = undefined
  }
}

const toOutput = (outpoint: string, { location, spentBy }: WatchedOutput): ChainOutput | undefined =>
  location && { outpoint, ...location, spentBy: spentBy ?? null }
