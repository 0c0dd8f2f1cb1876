/**
 * Deletable records of personal texts, addresses and secrets. Facts must not contain these, because they are permanent. A fact
 * refers to a record by its id, and a reader must handle a deleted record.
 */
export interface Records {
  /** Stores a JSON text; a second text with the same id replaces it. `now` is milliseconds since 1970. */
  put(id: string, kind: string, json: string, now: number): Promise<void>
  get(id: string): Promise<StoredRecord | undefined>
  /** Deletes records in one commit. An id without a record is ignored. */
  delete(...ids: readonly string[]): Promise<void>
}

export type StoredRecord = { readonly id: string; readonly kind: string; readonly json: string; readonly at: number }
