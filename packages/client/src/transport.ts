import { type GraphqlErrorEntry, PenstockError, type PenstockErrorCode } from './errors.ts'

/** The part of the global `fetch` that the client uses. */
export type FetchFunction = (
  url: string,
  init: {
    method: 'POST'
    headers: Record<string, string>
    body: string
    signal: AbortSignal
    redirect: 'manual'
  },
) => Promise<FetchResponse>

export type FetchResponse = {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** The answer to a document that succeeded. */
export type GraphqlAnswer = {
  readonly data: unknown
  readonly extensions: Readonly<Record<string, unknown>>
}

export type Transport = (body: string, signal: AbortSignal) => Promise<GraphqlAnswer>

/** Creates a function that sends one request. It throws a PenstockError if the request fails in any way. */
export const createTransport =
  (url: string, headers: Readonly<Record<string, string>>, send: FetchFunction): Transport =>
  async (body, signal) => {
    const response = await receive(send, url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal,
      // A redirect could take the credential to another host.
      redirect: 'manual',
    })
    return readAnswer(response)
  }

type ReceivedResponse = {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
}

async function receive(send: FetchFunction, ...[url, init]: Parameters<FetchFunction>): Promise<ReceivedResponse> {
  try {
    const response = await send(url, init)
    return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
  } catch (cause) {
    throw new PenstockError('NETWORK_ERROR', `${url} could not be reached, or the connection was lost`, { cause })
  }
}

function readAnswer({ status, retryAfter, text }: ReceivedResponse): GraphqlAnswer {
  const answer = parseAnswer(text)
  const [error] = answer?.errors ?? []
  const retryAfterSeconds = readSeconds(retryAfter) ?? readSeconds(error?.extensions?.['retry_after'])
  const details = { status, retryAfterSeconds, errors: answer?.errors ?? [], data: answer?.data }
  if (status === 429) throw new PenstockError('RATE_LIMITED', error?.message ?? 'Too many requests', details)
  if (error) throw new PenstockError(toErrorCode(error.extensions?.['code']), error.message, details)
  if (answer?.data === undefined || answer.data === null)
    throw new PenstockError(
      status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'INVALID_RESPONSE',
      `the server answered with status ${status} and without data`,
      details,
    )
  return { data: answer.data, extensions: answer.extensions ?? {} }
}

type AnswerBody = {
  readonly data?: unknown
  readonly errors?: readonly GraphqlErrorEntry[]
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** @returns undefined if the text is not the JSON of an object */
function parseAnswer(text: string): AnswerBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? body : undefined
  } catch {
    return undefined
  }
}

/** Reads a number of seconds. A date in `Retry-After` is ignored, because the clocks of both sides may differ. */
function readSeconds(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

const SERVER_CODES: ReadonlySet<unknown> = new Set<PenstockErrorCode>([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_SERVER_ERROR',
])

const toErrorCode = (code: unknown): PenstockErrorCode =>
  SERVER_CODES.has(code) ? (code as PenstockErrorCode) : 'INTERNAL_SERVER_ERROR' // one of the set
