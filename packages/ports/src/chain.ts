import { Fault } from '@penstock/kernel/result.ts'

/** Hashes and transaction ids are lower-case hex as humans write them (big-endian). An outpoint is `txid:vout`. */

/** `time`: milliseconds since 1970, in whole seconds as the header has it. */
export type Block = { readonly height: number; readonly hash: string; readonly previousHash: string; readonly time: number }

export type ChainTip = Block & {
  /** The node believes that it has every block there is. */
  readonly synced: boolean
}

/** No block has the output, and nobody can tell now whether its transaction waits in a mempool. */
export class MempoolUnseen extends Fault {}

/** What there is to know of an output. */
export type Output = {
  readonly outpoint: string
  readonly valueSat: bigint
  /** The output script in hex. */
  readonly script: string
  /** Height of the block that contains it; null while it is in the mempool. */
  readonly height: number | null
  /** Index of the transaction in its block, for the short channel id; null in the mempool. */
  readonly txIndex: number | null
  /** The transaction that spends it, as far as the node knows; null: unspent. A spend in the mempool has height null. */
  readonly spentBy: { readonly txid: string; readonly height: number | null } | null
}

export interface Chain {
  /** What the source can and cannot see: without a mempool source an unconfirmed transaction of somebody else is invisible. */
  readonly sees: { readonly mempool: boolean }
  tip(): Promise<ChainTip>
  /**
   * Looks for an output. `fromHeight` is where a source without an index starts to look.
   * @returns undefined where neither chain nor mempool has it: never published, vanished, replaced or re-organised away
   * @throws MempoolUnseen where only the blocks are known for the moment, and none has it
   */
  output(outpoint: string, fromHeight: number): Promise<Output | undefined>
  /**
   * When the transaction of an output came into the mempool of the source, in milliseconds since 1970; else when the source
   * first showed it there. One that counts in seconds tells the last moment of that second.
   * @returns null where it is not known: no mempool is seen, or the transaction was in a block when it was first looked at
   */
  enteredMempoolAt(outpoint: string): Promise<number | null>
  /**
   * Tips as they come, the present one first; after a re-org the new tip, whose height may be lower. Blocks may be
   * skipped, the newest never. Ends with the signal only; a lost connection is the adapter's own to mend.
   */
  tips(signal: AbortSignal): AsyncIterable<ChainTip>
  /** Satoshis per virtual byte for confirmation within so many blocks. */
  feeRate(targetBlocks: number): Promise<number>
}
