/**
 * Deletable records of personal texts, addresses and secrets. Facts must not contain these, because they are permanent. A fact
 * refers to a record by its id, and a reader must handle a deleted record. Changes of one process to a record are made in the
 * order of their calls, also if the calls do not wait for each other.
 */
export interface Records {
  /** Stores a JSON text; a second text with the same id replaces it. `now` is milliseconds since 1970. */
  put(id: string, kind: string, json: string, now: number): Promise<void>
  get(id: string): Promise<StoredRecord | undefined>
  /** Finds records by their ids. The map lacks the ids that have no record. */
  getMany(ids: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>>
  /** Deletes records. An id without a record is ignored. */
  delete(...ids: readonly string[]): Promise<void>
}

export type StoredRecord = { readonly id: string; readonly kind: string; readonly json: string; readonly at: number }
