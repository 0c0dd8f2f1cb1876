import { errors } from 'undici'

/** The error of a connection to a host that the guard refuses. `reason` is a part of a sentence without a full stop. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
  readonly code = 'ERR_REFUSED_ADDRESS'
  readonly reason: string
  constructor(reason: string) {
    super(`the address is refused: ${reason}`)
    this.reason = reason
  }
}

const INCOMPLETE_ANSWER = 'the connection was closed before the answer was complete'
const INVALID_ANSWER = 'the answer is not valid HTTP'
const UNREACHABLE = 'the host cannot be reached'
const INVALID_CERTIFICATE = 'the certificate of the host is not trusted'

/** Messages of Node and undici contain addresses, so only their codes are used. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the host refused the connection',
  ECONNRESET: INCOMPLETE_ANSWER,
  EPIPE: INCOMPLETE_ANSWER,
  UND_ERR_SOCKET: INCOMPLETE_ANSWER,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: INVALID_ANSWER,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ETIMEDOUT: UNREACHABLE,
  UND_ERR_CONNECT_TIMEOUT: 'the host did not accept the connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  EPROTO: 'the TLS handshake failed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host',
  CERT_HAS_EXPIRED: 'the certificate of the host has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: INVALID_CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: INVALID_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: INVALID_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: INVALID_CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: INVALID_CERTIFICATE,
}

/** Describes a failed call in a part of a sentence, without an address and without a part of the answer. */
export function describeFailure(error: unknown): string {
  if (error instanceof RefusedAddress) return error.reason
  if (error instanceof errors.HTTPParserError) return INVALID_ANSWER
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (REASONS[code] !== undefined) return REASONS[code]
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed'
  return /^[A-Z][A-Z0-9_]*$/.test(code) ? `the call failed (${code})` : 'the call failed'
}
