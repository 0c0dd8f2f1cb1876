/**
 * UNAUTHENTICATED: the credential is missing, invalid or revoked.
 * FORBIDDEN: the credential is valid, but does not permit the operation.
 * GRAPHQL_VALIDATION_FAILED: the request cannot be fulfilled; the message says why.
 * INTERNAL_SERVER_ERROR: the server failed or is busy.
 * RATE_LIMITED: too many requests; `retryAfterSeconds` says how long to wait.
 * NETWORK_ERROR: no connection, or it was lost.
 * TIMEOUT: no whole answer came within the time limit.
 * INVALID_RESPONSE: the answer is not one of this API. The URL may be wrong.
 *
 * After INTERNAL_SERVER_ERROR, NETWORK_ERROR, TIMEOUT and INVALID_RESPONSE, a mutation may have taken effect.
 */
export type PenstockErrorCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'INTERNAL_SERVER_ERROR'
  | 'RATE_LIMITED'
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'INVALID_RESPONSE'

/** An entry of `errors` in an answer. */
export type GraphqlErrorEntry = {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: Readonly<Record<string, unknown>>
}

export type PenstockErrorDetails = {
  readonly status?: number
  readonly retryAfterSeconds?: number | undefined
  readonly errors?: readonly GraphqlErrorEntry[]
  readonly data?: unknown
  readonly cause?: unknown
}

/** The failure of a call. */
export class PenstockError extends Error {
  override readonly name = 'PenstockError'
  readonly code: PenstockErrorCode
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined
  /** The time to wait before the next attempt, if the server gave one. */
  readonly retryAfterSeconds: number | undefined
  /** All errors of the answer; the first one gives the code and the message. */
  readonly errors: readonly GraphqlErrorEntry[]
  /** The data of an answer that also has errors. */
  readonly data: unknown
  /** The key that the call sent. A later call with this key and the same input cannot pay or create twice. */
  idempotencyKey: string | undefined = undefined

  constructor(code: PenstockErrorCode, message: string, details: PenstockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status
    this.retryAfterSeconds = details.retryAfterSeconds
    this.errors = details.errors ?? []
    this.data = details.data
  }
}

/**
 * Whether a value is a PenstockError, and has this code if one is given. It also recognises an error of another copy of this
 * package, for which `instanceof` is false.
 */
export const isPenstockError = (value: unknown, code?: PenstockErrorCode): value is PenstockError =>
  value instanceof Error && value.name === 'PenstockError' && (code === undefined || (value as PenstockError).code === code)
