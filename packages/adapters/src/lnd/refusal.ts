import { Fault } from '@penstock/kernel/result.ts'

/** gRPC's codes for a node that was not reached, or did not get to it: cancelled, deadline exceeded, unavailable. */
const UNREACHED = new Set([1, 4, 14])
/** gRPC's codes that lnd answers with where `lightning` knows no other for it, as `lightning` numbers them. */
const CODES = new Map([
  [5, 404],
  [12, 501],
])

/** lnd did not do what it was asked. Whoever knows the reason answers it; to everybody else it is a fault. */
export class Refusal extends Fault {
  /** As `lightning` numbers them, after those of HTTP. */
  readonly code: number
  /** `lightning`'s word for it. */
  readonly reason: string
  /** lnd's own words. */
  readonly said: string
  /** Where on its way a payment failed. */
  readonly failure: RouteFailure | undefined
  constructor(code: number, reason: string, said: string, failure?: RouteFailure) {
    super(`lnd: ${reason}${said === '' ? '' : ` (${said})`}`)
    this.code = code
    this.reason = reason
    this.said = said
    this.failure = failure
  }
}

export type RouteFailure = {
  /** 0: our own node; the first hop is 1. */
  readonly index?: number
  /** What the failing node asks for. */
  readonly policy?: { readonly base_fee_mtokens: string; readonly fee_rate: number; readonly cltv_delta: number }
}

/** The node was not reached: what became of the call is not known. */
export class Unreached extends Fault {}

/** The macaroon does not allow the call. */
export class Denied extends Fault {}

/** `lightning` rejects with [code, name, details], and with an Error for what it holds for a mistake of the caller. */
export function asFault(rejected: unknown): Error {
  if (rejected instanceof Error) return rejected
  if (!Array.isArray(rejected)) return new Fault(`lnd: ${String(rejected)}`)
  const [code, reason, details] = rejected as readonly unknown[]
  const grpc = grpcError(details)
  const said = grpc?.details ?? publishError(details) ?? ''
  if (reason === 'FailedToConnectToDaemon' || (grpc?.code !== undefined && UNREACHED.has(grpc.code)))
    return new Unreached(`lnd does not answer: ${said || String(reason)}`)
  if (said === 'permission denied' || said.startsWith('verification failed'))
    return new Denied(`lnd's macaroon does not allow this call (${String(reason)}): bake one with "penstock lnd bake"`)
  return new Refusal(CODES.get(grpc?.code ?? 0) ?? Number(code), String(reason), said, routeFailure(details))
}

/** What the chain's node said of a transaction that it would not have. */
function publishError(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('res' in details)) return undefined
  const { res } = details
  if (typeof res !== 'object' || res === null || !('publish_error' in res)) return undefined
  return String(res.publish_error)
}

/** `lightning` lists every attempt; ours have one. */
function routeFailure(details: unknown): RouteFailure | undefined {
  if (typeof details !== 'object' || details === null || !('failures' in details)) return undefined
  const last: unknown = Array.isArray(details.failures) ? details.failures.at(-1) : undefined
  const found: unknown = Array.isArray(last) ? last[2] : undefined
  return typeof found === 'object' && found !== null ? found : undefined
}

type GrpcError = { readonly code?: number; readonly details?: string }

function grpcError(details: unknown): GrpcError | undefined {
  if (typeof details !== 'object' || details === null) return undefined
  const error: unknown = 'err' in details ? details.err : details
  if (typeof error !== 'object' || error === null) return undefined
  return {
    ...('code' in error && typeof error.code === 'number' && { code: error.code }),
    ...('details' in error && typeof error.details === 'string' && { details: error.details }),
  }
}
