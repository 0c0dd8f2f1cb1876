import { createHash, timingSafeEqual } from 'node:crypto'
import { Fault } from '@penstock/kernel/result.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { z } from 'zod'

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
export function operatorOnly(token: string): RequestHandler {
  const expected = digest(token)
  return (request, response, next) => {
    const given = request.header('authorization')?.replace(/^Bearer /, '') ?? ''
    if (timingSafeEqual(digest(given), expected)) return next()
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
  const id = `${params['id'] ?? ''}`
  if (!ORDER_ID.test(id)) throw new OperatorError(400, 'An order id is a UUID.')
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

/** The last handler of the operator's routes: a sentence, never a stack. Plain errors come from the network's own control. */
export const failed =
  (log: Log) =>
  (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    if (error instanceof OperatorError) return void response.status(error.status).json({ error: error.message })
    const status = error instanceof Fault ? 503 : 422
    log.warn({ reason: String(error) }, 'an operator request failed')
    response.status(status).json({ error: error instanceof Error ? error.message : 'The request failed.' })
  }
