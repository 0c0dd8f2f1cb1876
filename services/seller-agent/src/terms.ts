/** What a seller sells and for how much. Sent to the market as its offer; a change is sent again at the next start. */
export type SellerTerms = {
  readonly totalSizeSat: bigint
  readonly minSizeSat: bigint
  readonly maxSizeSat: bigint
  /** Blocks for which a sold channel stays open. */
  readonly minBlockLength: number
  /** The price: a base and a share of the channel's size. */
  readonly baseFeeSat: bigint
  readonly feeRatePpm: number
  /** What the seller will charge at most for payments through a sold channel; its channels are opened with exactly that. */
  readonly baseFeeCapSat: bigint
  readonly feeRateCapPpm: number
  /** 1 to 5: the share of the estimated funding fee that the buyer bears; left out: the seller bears it. */
  readonly onchainMultiplier?: number
  /** Orders need no answer by hand. */
  readonly autoAccept: boolean
}

export const offerInput = (terms: SellerTerms) => ({
  total_size: `${terms.totalSizeSat}`,
  min_size: `${terms.minSizeSat}`,
  max_size: `${terms.maxSizeSat}`,
  min_block_length: terms.minBlockLength,
  base_fee: `${terms.baseFeeSat}`,
  fee_rate: terms.feeRatePpm,
  base_fee_cap: `${terms.baseFeeCapSat}`,
  fee_rate_cap: terms.feeRateCapPpm,
  ...(terms.onchainMultiplier !== undefined && { onchain_multiplier: terms.onchainMultiplier }),
  auto_accept: terms.autoAccept,
})

/** How often the agent looks, and how much it does side by side. */
export type Pace = {
  readonly pollMs: number
  /** An attestation at the latest so often; earlier when the funds have changed. */
  readonly attestMs: number
  readonly fundsMs: number
  /** Between looks at a sale that waits for the chain or the payout. */
  readonly watchMs: number
  /** Between looks at the channels that are closed, for what the node did not tell by itself. */
  readonly closedMs: number
  readonly concurrency: number
  /** After a setback: doubling from the first wait to the longest, and no more than so many openings of one sale. */
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  readonly maxOpenings: number
  /** When the buyer's node prevented so many openings, the market is told instead of letting the window pass. */
  readonly maxUnreached: number
}

export const pace: Pace = {
  pollMs: 1000,
  attestMs: 10_000,
  fundsMs: 2000,
  watchMs: 5000,
  closedMs: 60_000,
  concurrency: 8,
  firstRetryMs: 1000,
  longestRetryMs: 600_000,
  maxOpenings: 40,
  // With the waits in between that is about four minutes.
  maxUnreached: 8,
}

/** Fees of funding transactions, in satoshis per virtual byte. */
export type FundingFees = {
  readonly startRate: number
  /** A funding without a confirmation is helped after so many blocks, each time by half as much again. */
  readonly raiseAfterBlocks: number
  readonly maxRate: number
}

export const fundingFees: FundingFees = { startRate: 5, raiseAfterBlocks: 3, maxRate: 200 }
