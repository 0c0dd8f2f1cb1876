/**
 * An event before it is stored. `id` is a UUID (derived from its command's id, so that a repeated append is recognised);
 * `data` and `meta` are JSON texts and are kept byte for byte, since hashes cover them.
 */
export type NewEvent = { readonly id: string; readonly type: string; readonly data: string; readonly meta: string }

/** `revision` counts from 0 within the stream, `position` orders all streams of the store and never has a gap that fills later. */
export type StoredEvent = NewEvent & { readonly stream: string; readonly revision: number; readonly position: bigint }

/** 'none': the stream does not exist yet. A number: the revision of its last event. There is no "any". */
export type ExpectedRevision = 'none' | number

export type Appended =
  | { readonly outcome: 'appended'; readonly revision: number; readonly position: bigint }
  /** Somebody else was first. `revision` is that of the stream's real last event. */
  | { readonly outcome: 'conflict'; readonly revision: ExpectedRevision }

export type FollowOptions = {
  /** Streams are named `<category>-<id>`; only streams of these categories are seen. */
  readonly categories: readonly string[]
  /** Exclusive, a position that the store gave out; 'start' for everything. */
  readonly after: bigint | 'start'
  readonly signal: AbortSignal
}

/**
 * Where facts are kept. Append-only, one writer wins per revision, everything acknowledged is durable.
 *
 * Every method throws `Fault` where the store cannot be reached or does not answer in time. After a fault of `append`
 * the outcome is unknown: the same events with the same ids are tried again at the same revision, and a first
 * success answers as such. Events of which the stream has some at that revision and others not, or elsewhere, are a
 * `Bug`. Ids are looked for where the revision does not fit: an append that fits is not compared with the past.
 */
export interface EventStore {
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>
  /** In order of revision, from `from` (inclusive, 0 by default), at most `max` of them; empty where there are none. */
  read(stream: string, from?: number, max?: number): Promise<readonly StoredEvent[]>
  /** A page of the whole log in order of position, exclusive of `after`, which is a position that the store gave out. */
  readAll(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]>
  /** Everything after a position, then what comes, in batches, in order, without end until the signal. */
  follow(options: FollowOptions): AsyncIterable<readonly StoredEvent[]>
  close(): Promise<void>
}

/** @returns the category of a stream named `<category>-<id>`; categories have no dash. */
export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'))

/** @returns the aggregate's id of a stream named `<category>-<id>`. */
export const aggregateIdOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1)
