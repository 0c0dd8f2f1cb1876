import { Fault } from '@penstock/kernel/result.ts'
import type { RpcAddress } from './keys.ts'
import { requestCalls } from './requests.ts'
import { socketCalls } from './socket.ts'

/** The node understood the call, and says no. `code` is of bitcoind's list (src/rpc/protocol.h). */
export class RpcRefusal extends Fault {
  readonly code: number
  constructor(method: string, code: number, message: string) {
    super(`bitcoin node, ${method}: ${message} (${code})`)
    this.code = code
  }
}

/** bitcoind's and btcd's code for a transaction or block that they do not have. */
export const NOT_FOUND = -5

/** @throws RpcRefusal for the node's no, another Fault where it does not answer */
export type Rpc = <T>(method: string, ...params: readonly unknown[]) => Promise<T>

export function rpcOf(address: RpcAddress): Rpc {
  const call = /^wss?:/.test(address.url) ? socketCalls(address) : requestCalls(address)
  return async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const { result, error } = await call({ method, params })
    if (error) throw new RpcRefusal(method, error.code, error.message)
    return result as T // what the caller knows of the method
  }
}
