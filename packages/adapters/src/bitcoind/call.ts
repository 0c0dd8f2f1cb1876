/** One call of JSON-RPC, whatever carries it. */
export type Call = { readonly method: string; readonly params: readonly unknown[] }
export type Answer = { readonly result: unknown; readonly error: { readonly code: number; readonly message: string } | null }

/** No answer takes longer, nor a connection: a node that says nothing for so long is away. Whoever asks has a limit of his own. */
export const ANSWER_MS = 30_000
