import { type ApolloServer, HeaderMap, type HTTPGraphQLHead } from '@apollo/server'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { GraphQLError } from 'graphql'
import { invalidInput, outcomeUnknown } from '../errors.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import { assert } from '@penstock/kernel/result.ts'
import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import type { GraphqlContext } from './graphql/context.ts'
import { reportInternalError } from './graphql/format-error.ts'
import type { Gateway } from '../ports.ts'
import { toAddressKey } from './client-address.ts'
import { handleBodyErrors, readBodyFromUrl, type GraphqlBody, requireJsonBody, validateBody } from './graphql-body.ts'
import { countErrors } from './observe.ts'
import { hasApiKey } from '../account/authenticate.ts'
import { createReadinessGate } from './readiness-gate.ts'
import { allowAllOrigins } from './security.ts'
import { serveExplorer } from './explorer.ts'
import { type Authentication, authenticateCallers } from './request-callers.ts'

/** Mounts `/graphql` by POST, and by GET for queries. Every well-formed HTTP request is answered with 200, also with errors. */
export function mountGraphqlRoutes(app: Express, gateway: Gateway, server: ApolloServer<GraphqlContext>): void {
  const { authenticateRequest, readAuthentication } = createAuthenticator(gateway)
  /** Executes a GET like a POST, because the document decides whether GET is allowed. The answer is always JSON. */
  const executeRequest: RequestHandler = async (request, response) => {
    const execute = () =>
      server.executeHTTPGraphQLRequest({
        httpGraphQLRequest: { method: 'POST', headers: new HeaderMap(JSON_HEADERS), search: '', body: readBody(request) },
        context: async () => ({
          gateway,
          authentication: readAuthentication(request),
          ip: toAddressKey(request.ip),
          isGet: request.method === 'GET' || request.method === 'HEAD',
          runSerially: createMutex(),
          countedUses: new Map(),
          extensions: {},
        }),
      })
    const result = await runInLane(request, execute)
    for (const [name, value] of result.headers) response.setHeader(name, value)
    response.status(result.status ?? 200)
    if (result.body.kind === 'complete') response.send(result.body.string)
    // The schema has no `@defer` and no `@stream`.
    else throw new Error('Apollo answered in parts')
  }
  const json = express.json({ limit: '1mb', strict: false })
  const readinessGate = createReadinessGate(gateway, (response) =>
    sendError(response, 503, outcomeUnknown('The service is starting; try again in a moment.').toJSON()),
  )
  app.options('/graphql', allowAllOrigins)
  app.get(
    '/graphql',
    allowAllOrigins,
    disableCaching,
    serveExplorer,
    readinessGate,
    readBodyFromUrl,
    validateBody,
    authenticateRequest,
    executeRequest,
  )
  app.post(
    '/graphql',
    allowAllOrigins,
    disableCaching,
    readinessGate,
    requireJsonBody,
    json,
    handleBodyErrors,
    validateBody,
    authenticateRequest,
    executeRequest,
  )
}

function createAuthenticator(gateway: Gateway) {
  const authentications = new WeakMap<object, Authentication>()
  const authenticateRequest: RequestHandler = async (request, response, next) => {
    try {
      const headers = { authorization: request.get('authorization'), apiKey: request.get('x-api-key') }
      const authenticate = () => authenticateCallers(gateway, headers, toAddressKey(request.ip))
      authentications.set(request, await runInLane(request, authenticate))
    } catch (error) {
      return sendAuthenticationError(gateway, response, error)
    }
    next()
  }
  const readAuthentication = (request: Request): Authentication => {
    const authentication = authentications.get(request)
    assert(authentication, 'a document runs only after the authentication of its request')
    return authentication
  }
  return { authenticateRequest, readAuthentication }
}

/** Refuses other methods. It must be mounted after the routes of `/graphql`. */
export function rejectOtherMethods(app: Express): void {
  app.all('/graphql', allowAllOrigins, (_, response) => {
    response.set('allow', 'GET, HEAD, POST, OPTIONS')
    sendError(response, 405, invalidInput('Send queries by POST or GET, and mutations by POST.').toJSON())
  })
}

const disableCaching: RequestHandler = (_, response, next) => {
  response.set('cache-control', 'no-store')
  next()
}

/** The words of mutations and of the list of a seller's sales. They may be anywhere, because each use case sets its own priority. */
const REGULAR_WORDS = /mutation|sales/
/** With an API key also the word of `get_order`, by which a seller's agent reads the state of its sale. */
const REGULAR_WORDS_OF_API_KEY = /mutation|sales|get_order/

/** A document that only asks yields to other requests at the database, from the authentication of its caller on. */
function runInLane<T>(request: Request, work: () => T): T {
  const words = hasApiKey(request.get('authorization')) ? REGULAR_WORDS_OF_API_KEY : REGULAR_WORDS
  return words.test(readBody(request).query) ? work() : runWithLowPriority(work)
}

const JSON_HEADERS: readonly [string, string][] = [
  ['content-type', 'application/json'],
  ['accept', 'application/json'],
]

/** Removes the hash of a persisted query, because Apollo would refuse a query with a hash. */
function readBody(request: Request): GraphqlBody {
  const { extensions, ...body } = request.body as GraphqlBody // `validateBody` has checked it
  const more = Object.entries(extensions ?? {}).filter(([name]) => name !== 'persistedQuery')
  return { ...body, extensions: Object.fromEntries(more) }
}

const sendError = (response: Response, status: number, error: object): void => {
  // A gateway that starts is no fault.
  if (status !== 503) countErrors([error])
  response.status(status).json({ errors: [error] })
}

/** Too many requests have their own status and headers. Every other answer of GraphQL has status 200. */
function sendAuthenticationError({ log }: Gateway, response: Response, error: unknown): void {
  if (!(error instanceof GraphQLError)) return sendError(response, 200, reportInternalError(log, error))
  const { http, ...extensions } = error.extensions
  const head = http as HTTPGraphQLHead | undefined // `tooManyRequests` creates it
  for (const [name, value] of head?.headers ?? []) response.setHeader(name, value)
  sendError(response, head?.status ?? 200, { ...error.toJSON(), extensions })
}
