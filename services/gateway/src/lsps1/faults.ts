import type { QuoteRefusal } from '@penstock/contracts/quote.ts'
import { optionMismatch } from '@penstock/contracts/quote.ts'
import type { z } from 'zod'
import { lspTypes } from './book.ts'
import type { LspError } from './schemas.ts'

/** A refusal that is still to be written: what is wrong in LSPS1's words, and which field says so. */
export type Fault = { readonly fault: LspError }

const fault = (statusCode: number, code: number, name: string, property: string, message: string): Fault => ({
  fault: { statusCode, message, error: { code, message: name, data: { property, message } } },
})

/** The request cannot be read. @param property the field, or `body` for all of it */
export const invalidParams = (property: string, message: string, statusCode = 400): Fault =>
  fault(statusCode, -32602, 'Invalid params', property, message)

/** A value beside what get_info offers. @param option the field of get_info */
export const optionMismatched = (option: string, message: string): Fault => fault(400, 100, 'Option mismatch', option, message)

/** It cannot be served now: nobody sells it, or not to this client. */
export const rejected = (message: string): Fault => fault(500, 1, 'Client rejected', '', message)

export const notFound = (): Fault => fault(404, 101, 'Not found', 'order_id', 'There is no such order here.')

/** @param path behind the interface's own address: `/{type}/{operation}` */
export function noSuchAddress(path: string): Fault {
  const [, type = ''] = path.split('/')
  return lspTypes.some((known) => known === type)
    ? fault(404, 101, 'Not found', 'path', 'There is nothing at this address.')
    : fault(404, 101, 'Not found', 'type', `The type must be ${lspTypes.join(' or ')}.`)
}

export const tooMany = (message: string): Fault => fault(429, 1, 'Client rejected', '', message)

export const unavailable = (statusCode: 500 | 503, message: string): Fault =>
  fault(statusCode, -32603, 'Internal error', '', message)

/** The first thing that is wrong, named by its field. */
export function unreadable({ issues: [issue] }: z.ZodError): Fault {
  const property = issue?.path.join('.') || 'body'
  return invalidParams(property, `${property === 'body' ? 'The body' : property} ${issue?.message ?? 'is malformed.'}`)
}

/** What the quote service says no to. */
export function refusal(code: string, message: string): Fault {
  const option = optionMismatch[code as QuoteRefusal] // a code of another kind has no entry
  if (option !== undefined) return optionMismatched(option, message)
  return code === 'WRONG_REQUEST' ? invalidParams('body', message) : rejected(message)
}
