import { unwrapResolverError } from '@apollo/server/errors'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { randomUUID } from 'node:crypto'
import type { ErrorCode } from '../../errors.ts'

/** Apollo's own codes for errors of a caller. */
const clientErrorCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
])
const ownErrorCodes: ReadonlySet<unknown> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_SERVER_ERROR',
])

/** The start of graphql's message about a variable with many errors. Apollo sets no code for this error. */
const TOO_MANY_VARIABLE_ERRORS = 'Too many errors processing variables'

// Without this limit, a message of graphql would repeat the caller's values in full length.
const MAX_MESSAGE = 300

/** Reduces an error to its public form: one of four codes, a message, and no internals. */
export function formatError(log: Logger, formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const code = formatted.extensions?.['code']
  const cause = unwrapResolverError(error)
  const isOwnError = cause instanceof GraphQLError && !cause.originalError && ownErrorCodes.has(cause.extensions['code'])
  const isTooManyVariableErrors =
    cause instanceof GraphQLError && !cause.originalError && cause.message.startsWith(TOO_MANY_VARIABLE_ERRORS)
  if (isOwnError || isTooManyVariableErrors || clientErrorCodes.has(String(code))) {
    const message = formatted.message.length > MAX_MESSAGE ? `${formatted.message.slice(0, MAX_MESSAGE)}…` : formatted.message
    return {
      ...formatted,
      message,
      extensions: {
        ...formatted.extensions,
        code: ownErrorCodes.has(code) && !isTooManyVariableErrors ? code : 'GRAPHQL_VALIDATION_FAILED',
      },
    }
  }
  return reportInternalError(log, cause, formatted)
}

/** Logs an internal error in full, and gives the caller a reference to that log line. */
export function reportInternalError(
  log: Logger,
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
