import type { QuoteRefusal } from '@penstock/contracts/quote.ts'
import { optionMismatch } from '@penstock/contracts/quote.ts'
import type { z } from 'zod'
import { formatBusyMessage } from '../errors.ts'
import { lspTypes } from './book.ts'
import type { LspError } from './schemas.ts'

/** An LSPS1 error to send, with the field that caused it. */
export type LspFault = { readonly fault: LspError; readonly retryAfterSeconds?: number }

const createFault = (statusCode: number, code: number, name: string, property: string, message: string): LspFault => ({
  fault: { statusCode, message, error: { code, message: name, data: { property, message } } },
})

/** For a malformed request. @param property the field, or `body` for the whole body */
export const invalidParams = (property: string, message: string, statusCode = 400): LspFault =>
  createFault(statusCode, -32602, 'Invalid params', property, message)

/** For a value outside the options of get_info. @param option the field of get_info */
export const optionMismatched = (option: string, message: string): LspFault =>
  createFault(400, 100, 'Option mismatch', option, message)

/** For an order that no seller can serve now for this client. */
export const clientRejected = (message: string): LspFault => createFault(500, 1, 'Client rejected', '', message)

/** For an order that may exist for a while. Clients repeat a request with status 5xx, and would place another order. */
export const orderWithdrawn = (message: string): LspFault => createFault(409, 1, 'Client rejected', '', message)

export const lspOrderNotFound = (): LspFault => createFault(404, 101, 'Not found', 'order_id', 'There is no such order here.')

/** @param path the path below the base path: `/{type}/{operation}` */
export function unknownPath(path: string): LspFault {
  const [, type = ''] = path.split('/')
  return lspTypes.some((known) => known === type)
    ? createFault(404, 101, 'Not found', 'path', 'There is nothing at this address.')
    : createFault(404, 101, 'Not found', 'type', `The type must be ${lspTypes.join(' or ')}.`)
}

export const lspRateLimited = (message: string): LspFault => createFault(429, 1, 'Client rejected', '', message)

export const unavailable = (statusCode: 500 | 503, message: string): LspFault =>
  createFault(statusCode, -32603, 'Internal error', '', message)

/** The market is at its limit, and the gateway did not start the request. @param seconds until the client may try again */
export const lspMarketBusy = (seconds: number): LspFault => ({
  ...unavailable(503, `${formatBusyMessage(seconds)}.`),
  retryAfterSeconds: seconds,
})

/** Returns the first error of a malformed request, with its field. */
export function malformedRequest({ issues: [issue] }: z.ZodError): LspFault {
  const property = issue?.path.join('.') || 'body'
  return invalidParams(property, `${property === 'body' ? 'The body' : property} ${issue?.message ?? 'is malformed.'}`)
}

/** Turns a refusal of the quote service into a fault of LSPS1. */
export function toRefusalFault(code: string, message: string): LspFault {
  const option = optionMismatch[code as QuoteRefusal] // an unknown code has no entry
  if (option !== undefined) return optionMismatched(option, message)
  return code === 'WRONG_REQUEST' ? invalidParams('body', message) : clientRejected(message)
}
