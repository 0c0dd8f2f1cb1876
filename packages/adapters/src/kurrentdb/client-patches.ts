import type { KurrentDBClient } from '@kurrent/kurrentdb-client'

type WithErrorHandler = { handleError: (this: void, ...args: readonly unknown[]) => Promise<void> }

/**
 * Catches rejections of the client's error handler, which the client does not await. The handler rejects if a call of an earlier
 * connection breaks while no node of the cluster is reachable. The unhandled rejection would end the process.
 */
export function patchClient(client: KurrentDBClient): KurrentDBClient {
  const handler = client as unknown as WithErrorHandler // every client has this property; only its type is protected
  const original = handler.handleError
  handler.handleError = (...args) => original(...args).catch(() => undefined)
  return client
}
