import { GraphQLError } from 'graphql'

/** The four codes of `extensions.code`; a sentence says the rest. */
export type ErrorCode = 'UNAUTHENTICATED' | 'FORBIDDEN' | 'GRAPHQL_VALIDATION_FAILED' | 'INTERNAL_SERVER_ERROR'

const failure = (code: ErrorCode, message: string, more: object = {}): GraphQLError =>
  new GraphQLError(message, { extensions: { code, ...more } })

/** The same words for a bad and for a missing credential: clients know them. */
export const unauthenticated = (): GraphQLError => failure('UNAUTHENTICATED', 'Unauthorized token')

/** A good credential that does not open this. */
export const forbidden = (message: string): GraphQLError => failure('FORBIDDEN', message)

/** The caller's wish cannot be fulfilled. @param more further `extensions`: the reason's code, or what the caller needs to go on */
export const invalid = (message: string, more?: object): GraphQLError => failure('GRAPHQL_VALIDATION_FAILED', message, more)

/** For an identifier that is no UUID, in the words that clients know. */
export const invalidId = (): GraphQLError => invalid('Invalid ID')

/** What an unknown order and somebody else's order answer alike. */
export const orderNotFound = (): GraphQLError => invalid('Order not found')

/** It is there, and what it says is not known here: nothing about it may be concluded from that. */
export const orderUnread = (): GraphQLError => unanswered('The order cannot be read just now; try again.')

export const offerNotFound = (): GraphQLError => invalid('Offer not found')

/** It may have been done or not, and the caller is told how to find out. */
export const unanswered = (message: string, more?: object): GraphQLError => failure('INTERNAL_SERVER_ERROR', message, more)
