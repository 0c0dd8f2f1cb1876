import { type ApolloServer, HeaderMap, type HTTPGraphQLHead, type HTTPGraphQLResponse } from '@apollo/server'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { GraphQLError } from 'graphql'
import type { RequestCallers } from '../access.ts'
import { invalidInput, outcomeUnknown } from '../errors.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import type { GraphqlContext } from './graphql/context.ts'
import { reportInternalError } from './graphql/format-error.ts'
import type { Gateway } from '../ports.ts'
import { toAddressKey } from './client-address.ts'
import { handleBodyErrors, readBodyFromUrl, type GraphqlBody, requireJsonBody, validateBody } from './graphql-body.ts'
import { countErrors } from './observe.ts'
import type { Question } from './question-limit.ts'
import { createReadinessGate } from './readiness-gate.ts'
import { allowAllOrigins } from './security.ts'
import { serveExplorer } from './explorer.ts'
import { authenticateCallers } from './request-callers.ts'

/** Mounts `/graphql` by POST, and by GET for queries. Every well-formed HTTP request is answered with 200, also with errors. */
export function mountGraphqlRoutes(app: Express, gateway: Gateway, server: ApolloServer<GraphqlContext>): void {
  /** Executes a GET like a POST, because the document decides whether GET is allowed. The answer is always JSON. */
  const execute = (request: Request, callers: RequestCallers, question: Question): Promise<HTTPGraphQLResponse> =>
    server.executeHTTPGraphQLRequest({
      httpGraphQLRequest: { method: 'POST', headers: new HeaderMap(JSON_HEADERS), search: '', body: readBody(request) },
      context: async () => ({
        gateway,
        callers,
        ip: toAddressKey(request.ip),
        isGet: request.method === 'GET' || request.method === 'HEAD',
        question,
        runSerially: createMutex(),
        extensions: {},
      }),
    })
  /** @returns undefined if the credentials were refused, and the refusal was sent */
  const answer = async (request: Request, response: Response, question: Question): Promise<HTTPGraphQLResponse | undefined> => {
    // The check of the credentials reads the database too, and the document is parsed only later.
    if (!mayContainMutation(readBody(request))) await question.waitForTurn()
    const headers = { authorization: request.get('authorization'), apiKey: request.get('x-api-key') }
    let callers: RequestCallers
    try {
      callers = await authenticateCallers(gateway, headers, toAddressKey(request.ip))
    } catch (error) {
      sendAuthenticationError(gateway, response, error)
      return undefined
    }
    return execute(request, callers, question)
  }
  const answerRequest: RequestHandler = async (request, response) => {
    const question = gateway.questions.begin(response)
    // A slow reader of the answer keeps no other question waiting.
    const result = await answer(request, response, question).finally(question.end)
    if (!result) return
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
  app.get('/graphql', allowAllOrigins, disableCaching, serveExplorer, readinessGate, readBodyFromUrl, validateBody, answerRequest)
  app.post(
    '/graphql',
    allowAllOrigins,
    disableCaching,
    readinessGate,
    requireJsonBody,
    json,
    handleBodyErrors,
    validateBody,
    answerRequest,
  )
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

const JSON_HEADERS: readonly [string, string][] = [
  ['content-type', 'application/json'],
  ['accept', 'application/json'],
]

/** Whether a document may contain a mutation. No document can write this keyword in another way. */
const mayContainMutation = ({ query }: GraphqlBody): boolean => query.includes('mutation')

/** Removes the hash of a persisted query, because Apollo would refuse a query with a hash. */
function readBody(request: Request): GraphqlBody {
  const { extensions, ...body } = request.body as GraphqlBody // `validateBody` has checked it
  const more = Object.entries(extensions ?? {}).filter(([name]) => name !== 'persistedQuery')
  return { ...body, extensions: Object.fromEntries(more) }
}

const sendError = (response: Response, status: number, error: object): void => {
  countErrors([error])
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
