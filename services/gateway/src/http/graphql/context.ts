import type { Mutex } from '@penstock/kernel/mutex.ts'
import type { AuthenticatedCaller } from '../../access.ts'
import type { Gateway } from '../../ports.ts'

/** Data that all resolvers of one request share. */
export type GraphqlContext = {
  readonly gateway: Gateway
  readonly caller: AuthenticatedCaller | null
  /** The caller's IP address, from the connection or a trusted proxy. */
  readonly ip: string
  /** Whether the request is a GET. It may contain no mutation and no secret, because logs and histories store URLs. */
  readonly isGet: boolean
  /** GraphQL resolves nested fields concurrently, but two `buy` fields of one document must not race. */
  readonly runSerially: Mutex
}
