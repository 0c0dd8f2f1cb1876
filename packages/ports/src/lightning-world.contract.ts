import { createHash, randomBytes } from 'node:crypto'
import type { Chain } from './chain.ts'
import type { Lightning } from './lightning.ts'

/** A node and the `host:port` at which its peers find it. */
export type WorldNode = { readonly lightning: Lightning; readonly socket: string }

/**
 * Three nodes with coins, all of one size or more: buyer and seller have no channel with each other, and there are
 * announced and usable ones buyer -> market and market -> seller, of at least 2,000,000 sat on the left side.
 */
export type LightningWorld = {
  readonly market: WorldNode
  readonly buyer: WorldNode
  readonly seller: WorldNode
  readonly chain: Chain
  /** Returns when every node has seen the blocks. */
  readonly mine: (count: number) => Promise<void>
  /**
   * The last blocks are replaced by one more. Their transactions are in the first of the new ones, in the order that they had,
   * or wait for another. Returns when every node has seen the blocks.
   */
  readonly reorganise: (depth: number, isRemined: boolean) => Promise<void>
  /** The market's node is away while so many blocks are found. Returns when it is back. */
  readonly away: (blocks: number) => Promise<void>
  /** The seller's node is away meanwhile. Returns when it is back. */
  readonly sellerAway: (meanwhile: () => Promise<void>) => Promise<void>
  /** The buyer's node is away meanwhile. Returns when it is back, and its peers with it. */
  readonly buyerAway: (meanwhile: () => Promise<void>) => Promise<void>
  /** Whether the buyer's node refuses whoever wants to open a channel to it. */
  readonly buyerRefuses: (refuses: boolean) => Promise<void>
  /** The owner of the seller's node opens a taproot channel to the buyer's, and its funding is handed out. @returns its outpoint */
  readonly openTaproot: (capacitySat: bigint, isPrivate: boolean) => Promise<string>
  /** That side ends a channel between buyer and seller: its closing transaction is handed out. */
  readonly close: (outpoint: string, by: 'buyer' | 'seller', how: 'cooperative' | 'force') => Promise<void>
  /** Whether what the market sends by way of the seller is kept, before the buyer's node or by it. */
  readonly holdProbes?: (held: boolean) => Promise<void>
  /** The wallet that published an unconfirmed funding forgets it; mempools may keep it. */
  readonly forget?: (outpoint: string) => Promise<void>
  /**
   * The buyer sends one HTLC of another amount than the market's invoice asks for, as a part of the total. Resolves when
   * that has begun, or later.
   */
  readonly send: (request: string, amountMsat: bigint, totalMsat: bigint) => Promise<unknown>
  /** So many milliseconds more go by at every node. */
  readonly pass: (ms: number) => Promise<void>
  readonly teardown: () => Promise<void>
}

/** The nodes live through the whole suite: each case asks for them when it runs. */
export type Here = { readonly world: () => LightningWorld }

export const secret = (): { preimage: string; paymentHash: string } => {
  const preimage = randomBytes(32)
  return { preimage: preimage.toString('hex'), paymentHash: createHash('sha256').update(preimage).digest('hex') }
}
