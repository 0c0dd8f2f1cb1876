import { GraphQLError } from 'graphql'

/** The four codes of `extensions.code`; the message contains the details. */
export type ErrorCode = 'UNAUTHENTICATED' | 'FORBIDDEN' | 'GRAPHQL_VALIDATION_FAILED' | 'INTERNAL_SERVER_ERROR'

const createError = (code: ErrorCode, message: string, extensions: object = {}): GraphQLError =>
  new GraphQLError(message, { extensions: { code, ...extensions } })

/** For an invalid and for a missing credential; clients rely on this message. */
export const unauthenticated = (): GraphQLError => createError('UNAUTHENTICATED', 'Unauthorized token')

/** For a valid credential that does not permit the operation. */
export const forbidden = (message: string): GraphQLError => createError('FORBIDDEN', message)

/** For a request that cannot be fulfilled. @param extensions the reason's code, or data that the caller needs next */
export const invalidInput = (message: string, extensions?: object): GraphQLError =>
  createError('GRAPHQL_VALIDATION_FAILED', message, extensions)

/** For an identifier that is no UUID; clients rely on this message. */
export const invalidId = (): GraphQLError => invalidInput('Invalid ID')

/** For an unknown order and for another account's order, which a caller must not distinguish. */
export const orderNotFound = (): GraphQLError => invalidInput('Order not found')

/** The order exists, but the read model lacks the facts of its stream so far. The caller must not take it for unknown. */
export const orderUnavailable = (): GraphQLError => outcomeUnknown('The order cannot be read just now; try again.')

export const offerNotFound = (): GraphQLError => invalidInput('Offer not found')

/** The market is at its limit, and the gateway did not start the request. @param seconds until the caller may try again */
export const marketBusy = (seconds: number): GraphQLError =>
  createError('INTERNAL_SERVER_ERROR', formatBusyMessage(seconds), { retry_after: seconds })

export const isMarketBusyError = (error: unknown): boolean =>
  error instanceof GraphQLError && error.extensions['retry_after'] !== undefined

export const formatBusyMessage = (seconds: number): string => `The market is busy; try again in ${seconds} seconds`

/** The gateway does not know whether the request took effect. The message says how the caller can find out. */
export const outcomeUnknown = (message: string, extensions?: object): GraphQLError =>
  createError('INTERNAL_SERVER_ERROR', message, extensions)
