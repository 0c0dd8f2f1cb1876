import { type Outpoint, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readBlock, type RawBlock } from '@penstock/bitcoin/raw.ts'
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
const FORGET_MS = 24 * 3_600_000
/** Deeper than any re-org: what lies below is taken as it was. */
const REMEMBERED = 1000

/**
 * Finds confirmed outputs and what spends them by reading every block once from where the caller says on, for all that
 * are asked for together. What was read of them is remembered, and taken back where a re-org replaced the blocks.
 */
export function blockScan(source: BlockSource, clock: Clock) {
  const watched = new Map<string, Watched>()
  const hashes = new Map<number, string>()
  let running: Promise<void> | undefined

  /** @returns undefined where the best chain has no such output from that height on */
  async function output(text: string, fromHeight: number): Promise<Output | undefined> {
    const one = watch(watched, text, fromHeight, clock.now())
    if (!one) return undefined
    const tip = await source.tipHeight()
    // The one that runs now may have begun before this outpoint was in it.
    await running?.catch(() => undefined)
    running ??= pass().finally(() => (running = undefined))
    await running
    // Others may have begun another one: it reads on beyond our tip at most.
    return one.next > tip ? toOutput(text, one) : output(text, fromHeight)
  }

  async function pass(): Promise<void> {
    forget(watched, clock.now() - FORGET_MS)
    await followReorg(source, hashes, watched)
    const tip = await source.tipHeight()
    const all = [...watched.values()]
    for (let height = Math.min(...all.map(({ next }) => next)); height <= tip; height++) {
      const hash = await source.hashAt(height)
      const block = readBlock(await source.block(hash))
      const before = hashes.get(height - 1)
      // A re-org while we read: the next pass finds where it begins.
      if (before !== undefined && before !== block.previousHash) return
      for (const one of all) if (one.next === height) look(one, block, height)
      hashes.set(height, hash)
      hashes.delete(height - REMEMBERED)
    }
  }
  return { output }
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

/** Goes down to the last block that is still there, and takes back what was read above it. */
async function followReorg(
  source: BlockSource,
  hashes: Map<number, string>,
  watched: ReadonlyMap<string, Watched>,
): Promise<void> {
  const tip = await source.tipHeight()
  let top = Math.max(-1, ...hashes.keys())
  for (; top >= 0 && hashes.has(top); top--) {
    if (top <= tip && (await source.hashAt(top)) === hashes.get(top)) break
    hashes.delete(top)
  }
  for (const one of watched.values()) {
    if (one.next <= top + 1) continue
    one.next = Math.max(one.from, Math.min(one.next, top + 1))
    if (one.place && one.place.height >= one.next) one.place = undefined
    if (one.spentBy && one.spentBy.height >= one.next) one.spentBy = undefined
  }
}

const toOutput = (outpoint: string, { place, spentBy }: Watched): Output | undefined =>
  place && { outpoint, ...place, spentBy: spentBy ?? null }
