import { createHash, timingSafeEqual } from 'node:crypto'
import { Fault } from '@penstock/kernel/result.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { z } from 'zod'

/** An error message for the operator, with its HTTP status. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const hashText = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Refuses requests without the operator's token. The time of the comparison reveals nothing about the token. */
export function requireOperatorToken(token: string, onRefused: (request: Request) => void): RequestHandler {
  const expected = hashText(token)
  return (request, response, next) => {
    const given = request.header('authorization')?.replace(/^Bearer /, '') ?? ''
    if (given !== '' && timingSafeEqual(hashText(given), expected)) return next()
    onRefused(request)
    response.status(401).json({ error: "The operator's token is missing or wrong; it is in operator.token of the data folder." })
  }
}

/** @throws OperatorError with every invalid field */
export function parseOperatorBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`)
  throw new OperatorError(400, `The request is malformed: ${faults.join('; ')}.`)
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Parses the id of a route with `:id`. @throws OperatorError if it is not a UUID */
function parseUuid({ id }: Request['params'], subject: string): string {
  if (typeof id !== 'string' || !UUID.test(id)) throw new OperatorError(400, `${subject} is a UUID.`)
  return id.toLowerCase()
}

export const parseOrderId = (params: Request['params']): string => parseUuid(params, 'An order id')
export const parseEventId = (params: Request['params']): string => parseUuid(params, 'The id of a webhook event')
export const parseTransactionId = (params: Request['params']): string => parseUuid(params, 'A transaction id')

/** @throws OperatorError if no order was found */
export function requireOrder<T>(found: T | undefined): T {
  if (found === undefined) throw new OperatorError(404, 'There is no order with this id.')
  return found
}

/** Turns a function into a route that answers JSON. */
export const respondWithJson =
  (handle: (request: Request) => unknown): RequestHandler =>
  async (request, response) => {
    response.json(await handle(request))
  }

/** Turns a client error of express or its body parser into an OperatorError; undefined for any other error. */
function toOperatorError(error: unknown): OperatorError | undefined {
  if (error instanceof OperatorError) return error
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  if (typeof status !== 'number' || status >= 500) return undefined
  if (error instanceof URIError) return new OperatorError(400, 'The address has an escape that stands for no character.')
  if (status === 413) return new OperatorError(413, 'The body is too large.')
  if (status === 415) return new OperatorError(415, 'The encoding of the body is not supported; send UTF-8.')
  return new OperatorError(400, 'The body is not valid JSON.')
}

// Without this limit, some messages would repeat the whole request.
const MAX_MESSAGE_LENGTH = 500

// The simulated network and the audit refuse with these errors. Any other error is a bug of ours and must not look like a
// refusal.
const REFUSAL_ERRORS: ReadonlySet<string> = new Set(['Error', 'RangeError', 'OpenRefused'])
const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && REFUSAL_ERRORS.has(error.name) && !('code' in error)

/** The last handler of the operator's routes, which answers an error with a message and never with a stack. */
export const createOperatorErrorHandler =
  (log: Logger) =>
  (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const sendError = (status: number, sentence: string) =>
      response
        .status(status)
        .json({ error: sentence.length > MAX_MESSAGE_LENGTH ? `${sentence.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : sentence })
    const operatorError = toOperatorError(error)
    if (operatorError) return void sendError(operatorError.status, operatorError.message)
    const reason = String(error)
    if (error instanceof Fault) {
      log.warn({ reason }, 'an operator request failed')
      sendError(503, error.message)
    } else if (isRefusal(error)) {
      // The request is impossible. The answer reports this to the operator, so the log has no warning.
      log.info({ reason }, 'an operator request failed')
      sendError(422, error.message)
    } else {
      log.error({ reason }, 'an operator request failed with an internal error')
      sendError(500, 'Penstock had an internal error; its log has the details.')
    }
  }

export const disableCaching: RequestHandler = (_request, response, next) => {
  response.set('cache-control', 'no-store')
  next()
}
