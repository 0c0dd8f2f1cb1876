/** Options of one call. They replace those of the client. */
export type CallOptions = {
  /** Ends the call. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of each attempt, in milliseconds: at most 2^31 - 1, for Infinity too. */
  readonly timeoutMs?: number | undefined
  /** The number of further attempts after a failed one, if the operation may be repeated. */
  readonly maxRetries?: number | undefined
  /** Receives the `extensions` of the answer, such as `idempotency_mismatch`. */
  readonly onExtensions?: ((extensions: Readonly<Record<string, unknown>>) => void) | undefined
}

/** A page of a list, with the number of all entries. */
export type Page = { readonly total_count: number; readonly list: readonly unknown[] }

/** A function that reads one page of a list, with functions that read all pages from there on. */
export type PagedOperation<Parameters extends readonly unknown[], Result extends Page> = ((
  ...parameters: Parameters
) => Promise<Result>) & {
  /** Reads one page after the other. `page.limit` is the size of a page: 100 unless it is given. */
  readonly pages: (...parameters: Parameters) => AsyncGenerator<Result, void, undefined>
  /**
   * Reads the entries of all pages, each once. An entry that a deletion moves to an earlier page meanwhile is not returned.
   */
  readonly all: (...parameters: Parameters) => AsyncGenerator<Result['list'][number], void, undefined>
}

/** The parts of an operation that are generated from the schema. */
export type OperationDescriptor = {
  /** The names of the fields from the root, such as `payment.transaction.find_one`. */
  readonly path: string
  /** The first parameter of the function: the input, an object with the arguments, or none. */
  readonly parameters: 'none' | 'input' | 'named'
  readonly isPaged: boolean
  /** Whether a failed attempt may be repeated: always, with the same idempotency key, or not. */
  readonly repetition: 'harmless' | 'with-key' | 'never'
  readonly document: string
}
