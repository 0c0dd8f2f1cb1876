import type { Kysely, Transaction } from 'kysely'

/** The last event of a stream that a consumer has handled. */
export type StreamProgress = { readonly stream: string; readonly revision: number; readonly position: bigint }

/**
 * The progress of consumers. A consumer handles streams in parallel, so the highest position says nothing about other streams;
 * the last revision of each stream counts. A checkpoint is the position up to which every event is handled.
 *
 * A view saves its progress in the transaction of its rows, so that every event counts once. A reaction saves it afterwards.
 */
export interface ConsumerProgress {
  /** The checkpoint up to which every event is handled; 'start' for a new consumer. */
  load(consumer: string): Promise<{ readonly position: bigint | 'start' }>
  /** @returns undefined if no event of the stream was handled */
  revision(consumer: string, stream: string, db?: Kysely<object>): Promise<number | undefined>
  /**
   * Records the last event of each stream. The events of all streams share statements. The recorded streams stay locked until the
   * transaction ends.
   * @param reached events in the order of their handling
   * @returns the events that are later than the recorded and the preceding events of their streams; the others change nothing
   */
  advance<T extends StreamProgress>(consumer: string, reached: readonly T[], trx: Transaction<object>): Promise<readonly T[]>
  /** Saves the checkpoint, which never goes back. */
  saveCheckpoint(consumer: string, position: bigint, db?: Kysely<object>): Promise<void>
  /** Records handled events beyond the checkpoint, in any order. */
  markHandled(consumer: string, positions: readonly bigint[]): Promise<void>
  /** @returns the recorded positions that are greater than `after`, and at most `until` */
  listHandled(consumer: string, after: bigint | 'start', until: bigint): Promise<readonly bigint[]>
  /** Deletes the recorded positions up to a position that the checkpoint has reached. */
  deleteHandled(consumer: string, until: bigint): Promise<void>
  /** Deletes the progress of a consumer, so that its view can be rebuilt. */
  reset(consumer: string, db?: Kysely<object>): Promise<void>
}
