import type { AuthenticatedCaller } from '../callers.ts'
import type { Gateway } from '../ports.ts'

/** Data that all resolvers of one request share. */
export type GraphqlContext = {
  readonly gateway: Gateway
  readonly caller: AuthenticatedCaller | null
  /** The caller's IP address, from the connection or a trusted proxy. */
  readonly ip: string
  /** Whether the request is a GET. It may contain no mutation and no secret, because logs and histories store URLs. */
  readonly isGet: boolean
  /** Runs the operations of one request one after the other, in the order of the calls. */
  readonly runSerially: <T>(operation: () => Promise<T>) => Promise<T>
}

/** GraphQL resolves nested fields concurrently, but two `buy` fields of one document must not race. */
export function createSerialRunner(): GraphqlContext['runSerially'] {
  let last: Promise<unknown> = Promise.resolve()
  return (operation) => {
    const result = last.then(operation)
    last = result.catch(() => undefined)
    return result
  }
}
