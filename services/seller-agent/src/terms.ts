/** A seller's offer and its price. The agent sends it to the market, and sends a change at the next start. */
export type SellerTerms = {
  readonly totalSizeSat: bigint
  readonly minSizeSat: bigint
  readonly maxSizeSat: bigint
  /** Blocks for which a sold channel stays open. */
  readonly minBlockLength: number
  /** The price: a base and a share of the channel's size. */
  readonly baseFeeSat: bigint
  readonly feeRatePpm: number
  /** The highest fees for payments through a sold channel; the agent opens its channels with exactly these. */
  readonly baseFeeCapSat: bigint
  readonly feeRateCapPpm: number
  /** 1 to 5: the share of the estimated funding fee that the buyer bears; left out: the seller bears it. */
  readonly onchainMultiplier?: number
  /** Whether every order that fits the offer is accepted without a manual answer. */
  readonly autoAccept: boolean
}

export const toOfferInput = (terms: SellerTerms) => ({
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

/** The intervals and limits of the agent's work. */
export type AgentTimings = {
  /** Milliseconds between two lists of the pending sales. */
  readonly pollMs: number
  /** The same for a quiet agent, because each poll costs the market CPU. */
  readonly quietPollMs: number
  /** The longest time between two attestations. A change of the funds is attested earlier. */
  readonly attestMs: number
  readonly fundsMs: number
  /** Milliseconds between two checks of a sale that waits for the chain or the payout (the action `watch`). */
  readonly watchMs: number
  /** Milliseconds between two lists of the closed channels, which find a close that the stream missed. */
  readonly closedMs: number
  readonly concurrency: number
  /** The wait after a setback doubles from the first to the longest. A sale has at most `maxOpenings` openings. */
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  readonly maxOpenings: number
  /** Openings that the buyer's node may prevent in a row, before the agent reports that to the market. */
  readonly maxUnreachable: number
}

export const defaultTimings: AgentTimings = {
  pollMs: 1000,
  quietPollMs: 2000,
  attestMs: 10_000,
  fundsMs: 2000,
  watchMs: 5000,
  closedMs: 60_000,
  concurrency: 8,
  firstRetryMs: 1000,
  longestRetryMs: 600_000,
  maxOpenings: 40,
  // With the backoff between them, eight openings take about four minutes.
  maxUnreachable: 8,
}

/** Fees of funding transactions, in satoshis per virtual byte. */
export type FundingFeeSettings = {
  readonly startRate: number
  /** The fee rate is raised whenever this number of blocks has passed without a confirmation. */
  readonly raiseAfterBlocks: number
  readonly maxRate: number
}

export const defaultFundingFeeSettings: FundingFeeSettings = { startRate: 5, raiseAfterBlocks: 3, maxRate: 200 }
