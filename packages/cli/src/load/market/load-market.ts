import { createClient, isPenstockError, type PenstockClient } from '@penstock/client/index.ts'
import { isList, isObject, type Json, getMember } from '../../json.ts'
import type { HttpClient } from './http-client.ts'
import type { LoadResponse } from './http-transport.ts'
import { BUSY, RequestError } from './request-error.ts'

/** The public APIs of a market (GraphQL and LSPS1) and its operator API. Errors and refusals are thrown as RequestError. */
export type LoadMarket = {
  /** Calls operations of the GraphQL API. */
  call<Result>(bearer: string | undefined, run: (api: PenstockClient) => Promise<Result>): Promise<Result>
  /** Sends a document that selects only the fields that the load needs. @returns the `data` of the answer */
  graphql(query: string, variables: object, bearer?: string): Promise<Json>
  lsps1(method: 'GET' | 'POST', path: string, body?: object): Promise<Json>
  /** Requests a page. @param url as the market returned it; its host is replaced by the address of the market under load */
  page(url: string): Promise<void>
  /** Null if no operator token was given. */
  readonly operator: OperatorApi | null
}
export type OperatorApi = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Json>

/** An audit takes longer than other requests, because it reads every recorded fact. */
const AUDIT_TIMEOUT_MS = 10 * 60 * 1000

export type MarketClients = {
  /** For buyers and sellers. */
  readonly loadClient: HttpClient
  /** For the operator. Its requests are not part of the load. They continue after the load, to read the results of payments. */
  readonly controlClient: HttpClient
  readonly token: string | undefined
}

export function openLoadMarket({ loadClient, controlClient, token }: MarketClients): LoadMarket {
  return {
    call: (bearer, run) => callApi(loadClient, bearer, run),
    graphql: (query, variables, bearer) => callApi(loadClient, bearer, (api) => api.request<Json>(query, variables)),
    async lsps1(method, path, body) {
      const answer = await loadClient.send(method, `/api/lsp/v1${path}`, body && { body })
      throwIfThrottled(answer)
      if (answer.status !== 200 && answer.status !== 201) throw toHttpError(answer)
      return parseJsonBody(answer)
    },
    async page(url) {
      const answer = await loadClient.send('GET', findPagePath(url))
      throwIfThrottled(answer)
      if (answer.status !== 200) throw toHttpError(answer)
    },
    operator:
      token === undefined
        ? null
        : async (method, path, body) => {
            const timeout = path.startsWith('/audit/') && { timeoutMs: AUDIT_TIMEOUT_MS }
            const answer = await controlClient.send(method, `/operator${path}`, {
              bearer: token,
              ...timeout,
              ...(body && { body }),
            })
            if (answer.status !== 200) throw toHttpError(answer)
            return parseJsonBody(answer)
          },
  }
}

/** The HTTP client has the timeout. This one is the longest that timers have. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Runs calls over the connections of the load. A call is never repeated, because the report counts every failure. */
async function callApi<Result>(
  loadClient: HttpClient,
  bearer: string | undefined,
  run: (api: PenstockClient) => Promise<Result>,
): Promise<Result> {
  let answer: LoadResponse | undefined
  const api = createClient({
    url: 'http://market.invalid', // The connections have the address.
    maxRetries: 0,
    timeoutMs: NO_TIMEOUT_MS,
    fetch: async (_, { body }) => {
      const received = await loadClient.send('POST', '/graphql', { body, bearer })
      answer = received
      const { status, headers, text } = received
      return { status, headers: { get: (name) => headers[name]?.toString() ?? null }, text: async () => text }
    },
  })
  try {
    return await run(api)
  } catch (error) {
    if (!isPenstockError(error)) throw error
    if (!answer) throw error.cause
    throwIfThrottled(answer)
    const [first] = error.errors
    // An error of an answer consists of JSON.
    throw first ? toGraphqlError(first as unknown as Json) : toHttpError(answer)
  }
}

/** The text at a path of members, as `a.b.c`. @throws RequestError if there is none */
export function getTextAt(json: Json, path: string): string {
  const found = getValueAt(json, path)
  if (typeof found !== 'string') throw new RequestError('unexpected answer', `the answer has no text at ${path}`)
  return found
}

/** The string or number at a path of members, as text; '-' if there is none. */
export function formatValueAt(json: Json, path: string): string {
  const found = getValueAt(json, path)
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : '-'
}

/** @returns the value at a path of members; null if there is none */
export const getValueAt = (json: Json, path: string): Json =>
  path.split('.').reduce<Json>((found, name) => getMember(found, name), json)

function throwIfThrottled({ status, headers }: LoadResponse): void {
  if (status !== 429) return
  const seconds = Number(headers['retry-after'])
  throw new RequestError(
    'throttled',
    'the market requests a pause',
    Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null,
  )
}

/** Refusals with these reasons count as throttles and not as errors: the market limits the number of unpaid orders. */
const LIMIT_REASONS = new Set(['TOO_MANY_ORDERS'])

function toGraphqlError(error: Json): RequestError {
  const code = getValueAt(error, 'extensions.code')
  const reason = getValueAt(error, 'extensions.reason')
  const message = getValueAt(error, 'message')
  const text = typeof message === 'string' ? message : 'the market gave no message'
  if (typeof getValueAt(error, 'extensions.retry_after') === 'number') return new RequestError(BUSY, text)
  if (typeof reason === 'string' && LIMIT_REASONS.has(reason)) return new RequestError(reason, text, null)
  return new RequestError(typeof reason === 'string' ? reason : typeof code === 'string' ? code : 'no code', text)
}

function toHttpError({ status, text, headers }: LoadResponse): RequestError {
  const body = tryParseJson(text)
  const message = [getValueAt(body ?? null, 'message'), getValueAt(body ?? null, 'error')].find(
    (found) => typeof found === 'string',
  )
  const redirectText = headers.location === undefined ? '' : ` to ${headers.location}, which is not followed`
  const isBusy = status === 503 && headers['retry-after'] !== undefined
  return new RequestError(isBusy ? BUSY : `HTTP ${status}`, `${message ?? `HTTP ${status}`}${redirectText}`)
}

function parseJsonBody({ status, text }: LoadResponse): Json {
  const body = tryParseJson(text)
  if (body === undefined || (!isObject(body) && !isList(body)))
    throw new RequestError(`HTTP ${status}`, `HTTP ${status} without a JSON body`)
  return body
}

function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse yields nothing else
  } catch {
    return undefined
  }
}

/** @param url a link of the market, which may be under the path of its public address @returns the path at the market itself */
export const findPagePath = (url: string): string => /\/checkout\/[^/?#]+$/.exec(url)?.[0] ?? new URL(url).pathname
