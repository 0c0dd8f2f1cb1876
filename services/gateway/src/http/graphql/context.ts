import type { Mutex } from '@penstock/kernel/mutex.ts'
import type { Gateway } from '../../ports.ts'
import type { TakeBack } from '../../rate-limit.ts'
import type { ResponseExtensions } from '../../use-case.ts'
import type { Authentication } from '../request-callers.ts'

/** Data that all resolvers of one request share. */
export type GraphqlContext = {
  readonly gateway: Gateway
  readonly authentication: Authentication
  /** The caller's IP address, from the connection or a trusted proxy. */
  readonly ip: string
  /** Whether the request is a GET. It may contain no mutation and no secret, because logs and histories store URLs. */
  readonly isGet: boolean
  /** GraphQL resolves nested fields concurrently, but two `buy` fields of one document must not race. */
  readonly runSerially: Mutex
  /** The counted uses of the request, by the name of their limit. */
  readonly countedUses: Map<string, TakeBack[]>
  /** Use cases add entries, and the response has them as its `extensions`. */
  readonly extensions: ResponseExtensions
}
