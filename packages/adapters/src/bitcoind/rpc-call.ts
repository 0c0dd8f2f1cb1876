/** One JSON-RPC call, over any transport. */
export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }
export type RpcResponse = { readonly result: unknown; readonly error: { readonly code: number; readonly message: string } | null }

/** Timeout in ms of a connection attempt and of an answer. After it the node counts as unreachable. */
export const RESPONSE_TIMEOUT_MS = 30_000
