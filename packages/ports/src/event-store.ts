/**
 * An event before it is stored. `id` is a UUID (derived from its command's id, so that a repeated append is recognised). `data`
 * and `meta` are JSON texts and are stored byte for byte, because hashes cover them.
 */
export type NewEvent = { readonly id: string; readonly type: string; readonly data: string; readonly meta: string }

/** `revision` counts from 0 within a stream. `position` orders the events of all streams, and its gaps are never filled. */
export type StoredEvent = NewEvent & { readonly stream: string; readonly revision: number; readonly position: bigint }

/** 'none': the stream does not exist yet. A number: the revision of its last event. No value accepts any revision. */
export type ExpectedRevision = 'none' | number

export type AppendOutcome =
  | { readonly outcome: 'appended'; readonly revision: number; readonly position: bigint }
  /** Another writer was first. `revision` is the revision of the last event of the stream. */
  | { readonly outcome: 'conflict'; readonly revision: ExpectedRevision }

export type FollowOptions = {
  /** Streams are named `<category>-<id>`. Only streams of these categories are followed. */
  readonly categories: readonly string[]
  /** A position that the store has returned, exclusive; 'start' for all events. */
  readonly after: bigint | 'start'
  /**
   * Categories that no other follower needs at once. While this follower runs, followers in other processes may hear of
   * their appends half a second later.
   */
  readonly soleReaderOf?: readonly string[]
  readonly signal: AbortSignal
}

/**
 * The store of facts. It is append-only, one writer wins per revision, and each acknowledged append is durable.
 *
 * Every method throws `Fault` if the store cannot be reached or does not answer in time. After a fault of `append` the
 * outcome is unknown. The caller repeats the append with the same ids at the same revision, and an earlier success is
 * returned as such.
 *
 * `append` throws a `Bug` if the stream has only some of the events at that revision, or has them elsewhere. The store
 * searches for ids only if the revision does not match; a matching append is not compared with earlier events.
 */
export interface EventStore {
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendOutcome>
  /** Reads events in the order of revisions, from `from` on (inclusive, 0 by default), at most `max`; empty if there are none. */
  read(stream: string, from?: number, max?: number): Promise<readonly StoredEvent[]>
  /** Reads a page of the log in the order of positions, after the position `after`, which the store must have returned. */
  readAll(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]>
  /** Yields all events after a position, then new ones, in order and in batches, until the signal aborts. */
  follow(options: FollowOptions): AsyncIterable<readonly StoredEvent[]>
  close(): Promise<void>
}
