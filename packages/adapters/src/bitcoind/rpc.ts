import { Fault } from '@penstock/kernel/result.ts'
import type { RpcAddress } from './rpc-credentials.ts'
import { createHttpTransport } from './http-transport.ts'
import { createWebSocketTransport } from './websocket-transport.ts'

/** The node understood the call and refused it. `code` is from bitcoind's list (src/rpc/protocol.h). */
export class RpcError extends Fault {
  readonly code: number
  constructor(method: string, code: number, message: string) {
    super(`bitcoin node, ${method}: ${message} (${code})`)
    this.code = code
  }
}

/** bitcoind's and btcd's code for a transaction or block that they do not have. */
export const NOT_FOUND = -5

/** @throws RpcError if the node refuses the call, another Fault if it does not answer */
export type Rpc = <T>(method: string, ...params: readonly unknown[]) => Promise<T>

export function createRpc(address: RpcAddress): Rpc {
  const call = /^wss?:/.test(address.url) ? createWebSocketTransport(address) : createHttpTransport(address)
  return async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const { result, error } = await call({ method, params })
    if (error) throw new RpcError(method, error.code, error.message)
    return result as T // the caller knows the result type of the method
  }
}
