import { type Outpoint, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readBlock, type RawBlock } from '@penstock/bitcoin/raw.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Output } from '@penstock/ports/chain.ts'

/** Blocks as a node without an index of outputs has them. */
export type BlockSource = {
  tipHeight(): Promise<number>
  /** Of the best chain. */
  hashAt(height: number): Promise<string>
  /** In hex. */
  block(hash: string): Promise<string>
}

type Place = { readonly valueSat: bigint; readonly script: string; readonly height: number; readonly txIndex: number }
type Watched = {
  readonly outpoint: Outpoint
  /** The first height that was not looked through yet. */
  next: number
  readonly from: number
  place: Place | undefined
  spentBy: { readonly txid: string; readonly height: number } | undefined
  askedAt: number
}

/** Longer than anybody waits between two looks at an output that still matters. */
const FORGET_MS = DAY_MS
/** A block that was read: who asks later is told that there is nothing for it, and does not read it again. */
type Known = { readonly hash: string; readonly previousHash: string; readonly named: Float64Array }

/** Two days: deeper than any re-org, what lies below is taken as it was; and some 20 MB of blocks that are full. */
const REMEMBERED = 288

/**
 * Finds confirmed outputs and what spends them by reading every block from where the caller says on, for all that are
 * asked for together. What was read of them is remembered, and taken back where a re-org replaced the blocks.
 */
export function blockScan(source: BlockSource, clock: Clock) {
  const watched = new Map<string, Watched>()
  /** Whoever they were read for. Those without a gap between them are of one chain. */
  const known = new Map<number, Known>()
  let turn: Promise<number> | undefined

  /** @returns undefined where the best chain has no such output from that height on */
  async function output(text: string, fromHeight: number): Promise<Output | undefined> {
    // The turn that is taken now may have seen the tip before we were asked.
    await turn?.catch(() => undefined)
    for (;;) {
      const one = watch(watched, text, fromHeight, clock.monotonicMs())
      if (!one) return undefined
      turn ??= readOne().finally(() => (turn = undefined))
      if (one.next > (await turn)) return toOutput(text, one)
    }
  }

  /** Reads one block at most, the one that is needed most. @returns the tip that all is judged by; beyond all heights: nothing can be said yet */
  async function readOne(): Promise<number> {
    forget(watched, clock.monotonicMs() - FORGET_MS)
    const tip = await source.tipHeight()
    await takeBack(source, known, watched, tip, Math.max(-1, ...known.keys()))
    skipKnown(watched.values(), known)
    const height = mostNeeded(watched.values(), tip)
    if (height === undefined) return tip
    const hash = await source.hashAt(height)
    const block = readBlock(await source.block(hash))
    // A re-org while we read, or one that only another range has seen from the other side.
    const stale = [
      [height + 1, known.get(height + 1)?.previousHash, hash],
      [height, known.get(height)?.hash, hash],
      [height - 1, known.get(height - 1)?.hash, block.previousHash],
    ] as const
    for (const [at, before, now] of stale)
      if (before !== undefined && before !== now) {
        await takeBack(source, known, watched, tip, at)
        return Number.POSITIVE_INFINITY
      }
    for (const one of watched.values()) if (one.next === height) look(one, block, height)
    known.set(height, { hash, previousHash: block.previousHash, named: namedIn(block) })
    known.delete(height - REMEMBERED)
    return tip
  }
  return { output }
}

/** Past the blocks down from the newest one read, all of one chain, that name nothing of what is asked for. */
function skipKnown(watched: Iterable<Watched>, known: ReadonlyMap<number, Known>): void {
  const top = Math.max(-1, ...known.keys())
  let lowest = top + 1
  while (known.has(lowest - 1)) lowest--
  for (const one of watched)
    while (one.next >= lowest && one.next <= top && known.get(one.next)?.named.includes(shortened(one.outpoint.txid)) === false)
      one.next++
}

/** The transactions of a block, and those that it spends from. Two that are shortened alike cost a look into the block. */
const namedIn = ({ transactions }: RawBlock): Float64Array =>
  Float64Array.from(
    new Set(
      transactions.flatMap((transaction) => [
        shortened(transaction.txid),
        ...transaction.inputs.map((input) => shortened(input.txid)),
      ]),
    ),
  )

const shortened = (txid: string): number => Number.parseInt(txid.slice(0, 12), 16)

/**
 * The shortest range first: an outpoint of today does not wait for a lease of a year ago. Those of about the same length
 * are read together, so that all of them take at most three times the blocks of the longest.
 */
function mostNeeded(watched: Iterable<Watched>, tip: number): number | undefined {
  let needed: { readonly next: number; readonly size: number } | undefined
  for (const { next } of watched) {
    if (next > tip) continue
    const size = Math.floor(Math.log2(tip - next + 1))
    if (!needed || size < needed.size || (size === needed.size && next < needed.next)) needed = { next, size }
  }
  return needed?.next
}

function watch(watched: Map<string, Watched>, text: string, fromHeight: number, now: number): Watched | undefined {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return undefined
  const from = Math.max(0, fromHeight)
  const known = watched.get(text)
  if (known && (known.place || known.from <= from)) {
    known.askedAt = now
    return known
  }
  const one: Watched = { outpoint, from, next: from, place: undefined, spentBy: undefined, askedAt: now }
  watched.set(text, one)
  return one
}

function forget(watched: Map<string, Watched>, before: number): void {
  for (const [text, { askedAt }] of watched) if (askedAt < before) watched.delete(text)
}

function look(one: Watched, { transactions }: RawBlock, height: number): void {
  one.next = height + 1
  const { txid, vout } = one.outpoint
  transactions.forEach((transaction, txIndex) => {
    const output = transaction.txid === txid ? transaction.outputs[vout] : undefined
    if (output) one.place = { ...output, height, txIndex }
    if (transaction.inputs.some((input) => input.vout === vout && input.txid === txid))
      one.spentBy = { txid: transaction.txid, height }
  })
}

/**
 * Goes down from a block that was read to the last one that is still there, and takes back all that was read above it.
 * Between the ranges are gaps: what lies below one is looked at when somebody reads on from there.
 */
async function takeBack(
  source: BlockSource,
  known: Map<number, Known>,
  watched: ReadonlyMap<string, Watched>,
  tip: number,
  from: number,
): Promise<void> {
  let top = from
  for (; known.has(top); top--) if (top <= tip && (await source.hashAt(top)) === known.get(top)?.hash) break
  if (top === from) return
  for (const height of known.keys()) if (height > top) known.delete(height)
  for (const one of watched.values()) {
    if (one.next <= top + 1) continue
    one.next = Math.max(one.from, top + 1)
    if (one.place && one.place.height >= one.next) one.place = undefined
    if (one.spentBy && one.spentBy.height >= one.next) one.spentBy = undefined
  }
}

const toOutput = (outpoint: string, { place, spentBy }: Watched): Output | undefined =>
  place && { outpoint, ...place, spentBy: spentBy ?? null }
