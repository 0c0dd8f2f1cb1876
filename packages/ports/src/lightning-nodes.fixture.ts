import { createHash, randomBytes } from 'node:crypto'
import type { Chain } from './chain.ts'
import type { Lightning } from './lightning.ts'

/** A node, and the `host:port` at which its peers reach it. */
export type FixtureNode = { readonly lightning: Lightning; readonly socket: string }

/**
 * Three nodes with coins. Buyer and seller have no channel with each other. Announced, active channels lead from buyer to
 * market and from market to seller. In each, the sending side has at least 2,000,000 sat.
 */
export type LightningFixture = {
  readonly market: FixtureNode
  readonly buyer: FixtureNode
  readonly seller: FixtureNode
  readonly chain: Chain
  /** Mines blocks. Resolves when every node has seen them. */
  readonly mine: (count: number) => Promise<void>
  /**
   * Replaces the last `depth` blocks by one block more. With `isRemined` the first new block has their transactions in the same
   * order; otherwise they wait for a later block. Resolves when every node has seen the blocks.
   */
  readonly reorganise: (depth: number, isRemined: boolean) => Promise<void>
  /** Mines blocks while the market's node is away. Resolves when it is back. */
  readonly away: (blocks: number) => Promise<void>
  /** Runs `meanwhile` while the seller's node is away. Resolves when it is back. */
  readonly sellerAway: (meanwhile: () => Promise<void>) => Promise<void>
  /** Runs `meanwhile` while the buyer's node is away. Resolves when it is back and connected to its peers. */
  readonly buyerAway: (meanwhile: () => Promise<void>) => Promise<void>
  /** Makes the buyer's node refuse or accept channels that others open. */
  readonly buyerRefuses: (refuses: boolean) => Promise<void>
  /** Opens a taproot channel from the seller's node to the buyer's, and publishes its funding. @returns the outpoint */
  readonly openTaproot: (capacitySat: bigint, isPrivate: boolean) => Promise<string>
  /** Closes a channel between buyer and seller from one side, and publishes the closing transaction. */
  readonly close: (outpoint: string, by: 'buyer' | 'seller', how: 'cooperative' | 'force') => Promise<void>
  /** Makes the buyer's side hold or release HTLCs that the market sends through the seller. */
  readonly holdProbes?: (held: boolean) => Promise<void>
  /** Makes the wallet that published an unconfirmed funding forget it. Mempools may still contain it. */
  readonly forget?: (outpoint: string) => Promise<void>
  /**
   * Sends one HTLC from the buyer for the market's invoice, with this amount, and with this total of the payment. Resolves
   * when the HTLC is sent, or later.
   */
  readonly send: (request: string, amountMsat: bigint, totalMsat: bigint) => Promise<unknown>
  /** Advances the time of every node by this number of milliseconds. */
  readonly pass: (ms: number) => Promise<void>
  /** The wall clock of the nodes; by default the clock of this machine. */
  readonly now?: () => number
  readonly teardown: () => Promise<void>
}

/** The nodes run during the whole suite. Each case gets them when it runs. */
export type SuiteContext = { readonly fixture: () => LightningFixture }

export const createSecret = (): { preimage: string; paymentHash: string } => {
  const preimage = randomBytes(32)
  return { preimage: preimage.toString('hex'), paymentHash: createHash('sha256').update(preimage).digest('hex') }
}
