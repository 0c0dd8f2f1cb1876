import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { invalidInput } from '../errors.ts'

export type GraphqlBody = {
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>> | null
  readonly operationName?: string | null
  readonly extensions?: Readonly<Record<string, unknown>> | null
}

const sendRefusal = (response: Response, status: number, message: string): void => {
  response.status(status).json({ errors: [invalidInput(message).toJSON()] })
}

/** Answers 415 to every body that is not JSON, such as a form on a page of another origin. */
export const requireJsonBody: RequestHandler = (request, response, next) => {
  if (request.is('application/json')) return next()
  sendRefusal(response, 415, 'Send the query as JSON, with Content-Type: application/json.')
}

/** Returns the HTTP status of an error of the body parser. */
const readErrorStatus = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
const isDecompressionError = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && String(error.code).startsWith('Z_')

/** Answers a body that the parser could not read. */
export const handleBodyErrors: ErrorRequestHandler = (error: unknown, _, response, next) => {
  const status = readErrorStatus(error)
  if (typeof status !== 'number' || status >= 500) return next(error)
  if (status === 413) return sendRefusal(response, 413, 'The body is larger than 1 MiB.')
  if (status === 415) return sendRefusal(response, 415, 'The encoding of the body is not supported; send UTF-8.')
  sendRefusal(response, 200, isDecompressionError(error) ? 'The body cannot be decompressed.' : 'The body is not valid JSON.')
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Refuses bodies for which the GraphQL server would answer with its own HTTP errors. */
export const validateBody: RequestHandler = (request, response, next) => {
  const fault = findBodyFault(request.body)
  if (fault === undefined) return next()
  sendRefusal(response, 200, fault)
}

/** After this message, Apollo clients send the text of each query. */
const NOT_SUPPORTED = 'PersistedQueryNotSupported'

function findBodyFault(body: unknown): string | undefined {
  if (!isObject(body)) return 'The body must be one JSON object with the fields query and variables.'
  if (body['query'] === undefined && isObject(body['extensions']) && 'persistedQuery' in body['extensions']) return NOT_SUPPORTED
  if (typeof body['query'] !== 'string' || body['query'].trim() === '') return 'query must be a text with a GraphQL document.'
  if (!isObject(body['variables'] ?? {})) return 'variables must be an object.'
  if (!isObject(body['extensions'] ?? {})) return 'extensions must be an object.'
  if (typeof (body['operationName'] ?? '') !== 'string') return 'operationName must be a text.'
  return undefined
}

const FIELDS = ['query', 'operationName'] as const
const JSON_FIELDS = ['variables', 'extensions'] as const

/** Builds the body of a POST from the URL of a GET (GraphQL over HTTP, section 6.2). */
export const readBodyFromUrl: RequestHandler = (request, response, next) => {
  const params = new URL(request.url, 'http://any').searchParams
  const body: Record<string, unknown> = {}
  for (const field of [...FIELDS, ...JSON_FIELDS]) {
    const [value, ...more] = params.getAll(field)
    if (more.length > 0) return sendRefusal(response, 200, `${field} must occur once in the URL.`)
    if (value === undefined || (value === '' && field !== 'query')) continue
    const parsed = isTextField(field) ? value : parseJson(value)
    if (parsed === undefined) return sendRefusal(response, 200, `${field} must be an object as JSON.`)
    body[field] = parsed
  }
  request.body = body
  next()
}

const isTextField = (field: string): boolean => FIELDS.some((one) => one === field)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
