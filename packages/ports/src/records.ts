/**
 * What no fact may hold, since facts are for ever: texts and addresses of persons, and secrets. A fact names the record
 * by its id. Records can be deleted, and whoever reads one must live with its absence.
 */
export interface Records {
  /** Keeps a JSON text; a second one under the same id replaces it. `now` is milliseconds since 1970. */
  put(id: string, kind: string, json: string, now: number): Promise<void>
  get(id: string): Promise<StoredRecord | undefined>
  /** Nothing happens where there is none. */
  delete(id: string): Promise<void>
}

export type StoredRecord = { readonly id: string; readonly kind: string; readonly json: string; readonly at: number }
