import { createHash, timingSafeEqual } from 'node:crypto'
import { Fault } from '@penstock/kernel/result.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { z } from 'zod'

/** A sentence for the operator, with the status that goes with it. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Lets nobody pass without the operator's token; how long that takes says nothing about it. */
export function operatorOnly(token: string, refused: (request: Request) => void): RequestHandler {
  const expected = digest(token)
  return (request, response, next) => {
    const given = request.header('authorization')?.replace(/^Bearer /, '') ?? ''
    if (given !== '' && timingSafeEqual(digest(given), expected)) return next()
    refused(request)
    response.status(401).json({ error: "The operator's token is missing or wrong; it is in operator.token of the data folder." })
  }
}

/** @throws OperatorError that names every field which is wrong */
export function bodyOf<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`)
  throw new OperatorError(400, `The request is malformed: ${faults.join('; ')}.`)
}

const ORDER_ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The order id of a route with `:id`. @throws OperatorError where it is none */
export function orderIdOf(params: Request['params']): string {
  const { id } = params
  if (typeof id !== 'string' || !ORDER_ID.test(id)) throw new OperatorError(400, 'An order id is a UUID.')
  return id.toLowerCase()
}

/** @throws OperatorError where there is none */
export function foundOrder<T>(found: T | undefined): T {
  if (found === undefined) throw new OperatorError(404, 'There is no order with this id.')
  return found
}

/** Turns a function into a route that answers JSON. */
export const answer =
  (make: (request: Request) => unknown): RequestHandler =>
  async (request, response) => {
    response.json(await make(request))
  }

/** What express and its body parser found wrong with a request. */
function requestFault(error: unknown): OperatorError | undefined {
  if (error instanceof OperatorError) return error
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  if (typeof status !== 'number' || status >= 500) return undefined
  if (error instanceof URIError) return new OperatorError(400, 'The address has an escape that stands for no character.')
  if (status === 413) return new OperatorError(413, 'The body is too large.')
  if (status === 415) return new OperatorError(415, 'The encoding of the body is not supported; send UTF-8.')
  return new OperatorError(400, 'The body is not valid JSON.')
}

// The network's own words repeat what they were asked for, however long it is.
const MAX_SENTENCE = 500

// The simulated network and the audit say no with these; anything else is a mistake of ours and must not look like the caller's.
const SAYS_NO: ReadonlySet<string> = new Set(['Error', 'RangeError', 'OpenRefused'])
const saysNo = (error: unknown): error is Error => error instanceof Error && SAYS_NO.has(error.name) && !('code' in error)

/** The last handler of the operator's routes: a sentence, never a stack. */
export const failed =
  (log: Log) =>
  (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const wrong = requestFault(error)
    if (wrong) return void response.status(wrong.status).json({ error: wrong.message })
    const answered = (status: number, sentence: string) =>
      response.status(status).json({ error: sentence.slice(0, MAX_SENTENCE) })
    const reason = String(error)
    if (error instanceof Fault) {
      log.warn({ reason }, 'an operator request failed')
      answered(503, error.message)
    } else if (saysNo(error)) {
      // What the operator asked for cannot be: it is told, and nobody else has to know.
      log.info({ reason }, 'an operator request failed')
      answered(422, error.message)
    } else {
      log.error({ reason }, 'an operator request met a mistake in the program')
      answered(500, 'Something is wrong inside of Penstock; its log says what.')
    }
  }

export const uncached: RequestHandler = (_request, response, next) => {
  response.set('cache-control', 'no-store')
  next()
}
