import { Fault } from '@penstock/kernel/result.ts'

/** gRPC codes of a node that was not reached or did not finish the call: cancelled, deadline exceeded, unavailable. */
const UNREACHABLE_CODES = new Set([1, 4, 14])
/** The status for gRPC codes of lnd that `lightning` does not map itself, in the numbering of `lightning`. */
const STATUS_BY_GRPC_CODE = new Map([
  [5, 404],
  [12, 501],
])

/** lnd refused a call. A caller handles the refusals whose reason it knows; all others are Faults. */
export class LndRefusal extends Fault {
  /** Status of `lightning`, modelled on HTTP. */
  readonly code: number
  /** Error name of `lightning`. */
  readonly reason: string
  /** Error text of lnd. */
  readonly details: string
  /** The hop at which a payment failed. */
  readonly failure: RouteFailure | undefined
  constructor(code: number, reason: string, message: string, failure?: RouteFailure) {
    super(`lnd: ${reason}${message === '' ? '' : ` (${message})`}`)
    this.code = code
    this.reason = reason
    this.details = message
    this.failure = failure
  }
}

export type RouteFailure = {
  /** Index of the failing node: our own node is 0, the first hop is 1. */
  readonly index?: number
  /** The policy that the failing node requires. */
  readonly policy?: { readonly base_fee_mtokens: string; readonly fee_rate: number; readonly cltv_delta: number }
}

/** The node was not reached, so the outcome of the call is unknown. */
export class LndUnreachable extends Fault {}

/** The macaroon does not allow the call. */
export class MacaroonDenied extends Fault {}

/** Converts a rejection of `lightning`: either [code, name, details], or an Error for a mistake of the caller. */
export function toLndFault(rejected: unknown): Error {
  if (rejected instanceof Error) return rejected
  if (!Array.isArray(rejected)) return new Fault(`lnd: ${String(rejected)}`)
  const [code, reason, details] = rejected as readonly unknown[]
  const grpc = readGrpcError(details)
  const message = grpc?.details ?? readPublishError(details) ?? ''
  if (reason === 'FailedToConnectToDaemon' || (grpc?.code !== undefined && UNREACHABLE_CODES.has(grpc.code)))
    return new LndUnreachable(`lnd does not answer: ${message || String(reason)}`)
  if (message === 'permission denied' || message.startsWith('verification failed'))
    return new MacaroonDenied(`lnd's macaroon does not allow this call (${String(reason)}): bake one with "penstock lnd bake"`)
  return new LndRefusal(
    STATUS_BY_GRPC_CODE.get(grpc?.code ?? 0) ?? Number(code),
    String(reason),
    message,
    readRouteFailure(details),
  )
}

/** The reason of the chain backend for rejecting a transaction. */
function readPublishError(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('res' in details)) return undefined
  const { res } = details
  if (typeof res !== 'object' || res === null || !('publish_error' in res)) return undefined
  return String(res.publish_error)
}

/** Reads the failure of the last attempt. `lightning` lists every attempt, and our payments have one. */
function readRouteFailure(details: unknown): RouteFailure | undefined {
  if (typeof details !== 'object' || details === null || !('failures' in details)) return undefined
  const last: unknown = Array.isArray(details.failures) ? details.failures.at(-1) : undefined
  const found: unknown = Array.isArray(last) ? last[2] : undefined
  return typeof found === 'object' && found !== null ? found : undefined
}

type GrpcError = { readonly code?: number; readonly details?: string }

function readGrpcError(details: unknown): GrpcError | undefined {
  if (typeof details !== 'object' || details === null) return undefined
  const error: unknown = 'err' in details ? details.err : details
  if (typeof error !== 'object' || error === null) return undefined
  return {
    ...('code' in error && typeof error.code === 'number' && { code: error.code }),
    ...('details' in error && typeof error.details === 'string' && { details: error.details }),
  }
}
