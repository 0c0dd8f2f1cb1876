import { unwrapResolverError } from '@apollo/server/errors'
import type { Log } from '@penstock/runtime/log.ts'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { randomUUID } from 'node:crypto'
import type { ErrorCode } from '../errors.ts'

/** Apollo's own codes for what a caller did wrong. */
const callersFault = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
])
const own: ReadonlySet<unknown> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_SERVER_ERROR',
])

/** What graphql says, without a code of Apollo's, where a variable has more wrong in it than it counts. */
const TOO_MANY_WRONG = 'Too many errors processing variables'

// Messages of graphql repeat what was sent, however long it is.
const MAX_MESSAGE = 300

/** What leaves the service: one of four codes, a sentence, and nothing of the inside. */
export function formatError(log: Log, formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const code = formatted.extensions?.['code']
  const cause = unwrapResolverError(error)
  const isSaid = cause instanceof GraphQLError && !cause.originalError && own.has(cause.extensions['code'])
  const isCounted = cause instanceof GraphQLError && !cause.originalError && cause.message.startsWith(TOO_MANY_WRONG)
  if (isSaid || isCounted || callersFault.has(String(code))) {
    const message = formatted.message.length > MAX_MESSAGE ? `${formatted.message.slice(0, MAX_MESSAGE)}…` : formatted.message
    return {
      ...formatted,
      message,
      extensions: { ...formatted.extensions, code: own.has(code) && !isCounted ? code : 'GRAPHQL_VALIDATION_FAILED' },
    }
  }
  return internal(log, cause, formatted)
}

/** A fault of ours: the caller gets a reference under which the log has the whole. */
export function internal(
  log: Log,
  cause: unknown,
  formatted: Pick<GraphQLFormattedError, 'path' | 'locations'> = {},
): GraphQLFormattedError {
  const reference = randomUUID()
  const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  log.error({ reference, reason, path: formatted.path?.join('.') }, 'a request failed')
  return {
    message: `Something went wrong on our side. Try again later, or report reference ${reference}.`,
    ...(formatted.path && { path: formatted.path }),
    ...(formatted.locations && { locations: formatted.locations }),
    extensions: { code: 'INTERNAL_SERVER_ERROR', reference },
  }
}
