import { Fault } from '@penstock/kernel/result.ts'

/** Hashes and transaction ids are lower-case hex as humans write them (big-endian). An outpoint is `txid:vout`. */

/** `time`: milliseconds since 1970, in whole seconds as the header has it. */
export type BlockHeader = { readonly height: number; readonly hash: string; readonly previousHash: string; readonly time: number }

export type ChainTip = BlockHeader & {
  /** Whether the node believes that it has all blocks. */
  readonly synced: boolean
}

/** No block has the output, and it is unknown whether its transaction is in a mempool. */
export class MempoolUnavailable extends Fault {}

/** A transaction output. `valueSat` is in satoshis. */
export type ChainOutput = {
  readonly outpoint: string
  readonly valueSat: bigint
  /** The output script in hex. */
  readonly script: string
  /** Height of the block that contains the output; null while it is in the mempool. */
  readonly height: number | null
  /** Index of the transaction in its block, for the short channel id; null in the mempool. */
  readonly txIndex: number | null
  /** The spending transaction, as far as the node knows; null: unspent. A spend in the mempool has height null. */
  readonly spentBy: { readonly txid: string; readonly height: number | null } | null
  /** Set if no block spends the output, and no mempool could be read. A spend may then wait for a block. */
  readonly isSpendUnknown?: true
}

export interface Chain {
  /** `mempool`: whether the source sees a mempool. Without a mempool, other parties' unconfirmed transactions are invisible. */
  readonly sees: { readonly mempool: boolean }
  tip(): Promise<ChainTip>
  /**
   * Finds an output. A source without an index searches from `fromHeight` on.
   * @returns undefined if neither chain nor mempool has it: never published, vanished, replaced or re-organised away
   * @throws MempoolUnavailable if no block has it, and the mempool cannot be read now
   */
  output(outpoint: string, fromHeight: number): Promise<ChainOutput | undefined>
  /**
   * The time at which the transaction of an output entered the mempool of the source, or else was first seen there, in
   * milliseconds since 1970. A source that counts in seconds returns the last millisecond of the second.
   * @returns null if the time is unknown: the source sees no mempool, or a block had the transaction at the first lookup of `output`
   */
  enteredMempoolAt(outpoint: string): Promise<number | null>
  /**
   * Yields the present tip, then each new tip; after a re-org its height may be lower. Blocks may be skipped, but never the
   * newest. The stream ends only with the signal; the adapter restores a lost connection by itself.
   */
  tips(signal: AbortSignal): AsyncIterable<ChainTip>
  /** Fee rate in satoshis per virtual byte for a confirmation within `targetBlocks`. */
  feeRate(targetBlocks: number): Promise<number>
}
