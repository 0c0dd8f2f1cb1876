import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { invalid } from '../errors.ts'

const refuse = (response: Response, status: number, message: string): void => {
  response.status(status).json({ errors: [invalid(message).toJSON()] })
}

/** 415 for everything but JSON: forms of foreign pages among it. */
export const onlyJson: RequestHandler = (request, response, next) => {
  if (request.is('application/json')) return next()
  refuse(response, 415, 'Send the query as JSON, with Content-Type: application/json.')
}

/** Of a fault of the body parser, whichever part of it failed. */
const statusOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
const isPacking = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && String(error.code).startsWith('Z_')

/** What the body parser could not read. */
export const bodyErrors: ErrorRequestHandler = (error: unknown, _, response, next) => {
  const status = statusOf(error)
  if (typeof status !== 'number' || status >= 500) return next(error)
  if (status === 413) return refuse(response, 413, 'The body is larger than 1 MiB.')
  if (status === 415) return refuse(response, 415, 'The encoding of the body is not supported; send UTF-8.')
  refuse(response, 200, isPacking(error) ? 'The body cannot be unpacked.' : 'The body is not valid JSON.')
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the GraphQL server would answer with HTTP errors of its own. */
export const wellFormed: RequestHandler = (request, response, next) => {
  const fault = faultOf(request.body)
  if (fault === undefined) return next()
  refuse(response, 200, fault)
}

function faultOf(body: unknown): string | undefined {
  if (!isObject(body)) return 'The body must be one JSON object with the fields query and variables.'
  if (typeof body['query'] !== 'string' || body['query'].trim() === '') return 'query must be a text with a GraphQL document.'
  if (!isObject(body['variables'] ?? {})) return 'variables must be an object.'
  if (!isObject(body['extensions'] ?? {})) return 'extensions must be an object.'
  if (typeof (body['operationName'] ?? '') !== 'string') return 'operationName must be a text.'
  return undefined
}
