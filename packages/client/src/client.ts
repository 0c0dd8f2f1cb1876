import { type Delay, delayByTimer, runAttempts } from './attempts.ts'
import { isPenstockError, PenstockError } from './errors.ts'
import type { ApiOperations } from './generated/api.ts'
import { operationTable } from './generated/operation-table.ts'
import type { CallOptions, OperationDescriptor, Page } from './operation.ts'
import { iterateEntries, iteratePages, type PagedArguments } from './pages.ts'
import { createTransport, type FetchFunction, type GraphqlAnswer } from './transport.ts'
import { createIdempotencyKey } from './web-crypto.ts'

export type ClientOptions = {
  /** The address of the API, with or without `/graphql` at its end. */
  readonly url: string
  /** A service API key. It decides about payments. */
  readonly apiKey?: string | undefined
  /** A dashboard token, or the key of an account, session or order. It decides about all operations without `apiKey`. */
  readonly token?: string | undefined
  /** The time limit of each attempt, in milliseconds: 30 seconds unless it is given, and at most 2^31 - 1, for Infinity too. */
  readonly timeoutMs?: number | undefined
  /** The number of further attempts after a failed one, if the operation may be repeated: 2 unless it is given. */
  readonly maxRetries?: number | undefined
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: FetchFunction | undefined
}

export type RequestOptions = CallOptions & {
  /** Whether a failed attempt may be repeated: true for queries only, unless the mutations have idempotency keys. */
  readonly isRepeatable?: boolean | undefined
}

export type PenstockClient = ApiOperations & {
  /** Runs a document of your own, such as one that selects fewer fields. @returns its data */
  readonly request: <Data = unknown>(document: string, variables?: object, options?: RequestOptions) => Promise<Data>
}

/** The clock and the chance of the attempts; tests replace them. */
export type AttemptTiming = { readonly delay: Delay; readonly random: () => number }

/** Creates a client. It opens no connection before its first call. */
export const createClient = (options: ClientOptions): PenstockClient =>
  createClientWithTiming(options, { delay: delayByTimer, random: Math.random })

export function createClientWithTiming(options: ClientOptions, timing: AttemptTiming): PenstockClient {
  const run = createRunner(options, timing)
  const request = async (document: string, variables?: object, requestOptions: RequestOptions = {}): Promise<unknown> =>
    (await run(document, variables, requestOptions.isRepeatable ?? false, requestOptions)).data
  return { ...createNamespaces(run), request } as PenstockClient // The types are generated from the same table.
}

type Run = (
  document: string,
  variables: object | undefined,
  isRepeatable: boolean,
  options: CallOptions,
) => Promise<GraphqlAnswer>

function createRunner(options: ClientOptions, timing: AttemptTiming): Run {
  const { url, apiKey, token, headers, fetch = globalThis.fetch } = options
  const credentials = {
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const send = createTransport(
    `${url.replace(/\/+$/, '').replace(/\/graphql$/, '')}/graphql`,
    { ...headers, ...credentials },
    fetch,
  )
  return async (document, variables, isRepeatable, call) => {
    const body = JSON.stringify({ query: document, variables })
    const answer = await runAttempts((signal) => send(body, signal), {
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? options.timeoutMs ?? 30_000,
      maxRetries: isRepeatable ? (call.maxRetries ?? options.maxRetries ?? 2) : 0,
      ...timing,
    })
    call.onExtensions?.(answer.extensions)
    return answer
  }
}

type Arguments = Readonly<Record<string, unknown>>

function createFunction(run: Run, operation: OperationDescriptor): unknown {
  const { path, document, parameters, isPaged, repetition } = operation
  const call = async (args: Arguments = {}, options: CallOptions = {}): Promise<unknown> => {
    const key = repetition === 'with-key' ? await chooseIdempotencyKey(args) : undefined
    const input = key === undefined ? args : { ...args, idempotency_key: key }
    try {
      const { data } = await run(document, parameters === 'input' ? { input } : input, repetition !== 'never', options)
      return readResult(data, path)
    } catch (error) {
      if (isPenstockError(error)) error.idempotencyKey = key
      throw error
    }
  }
  if (parameters === 'none') return (options?: CallOptions) => call({}, options)
  if (!isPaged) return call
  const readPage = (args: PagedArguments, options?: CallOptions) => call(args, options) as Promise<Page> // as the schema says
  return Object.assign(call, {
    pages: (args?: PagedArguments, options?: CallOptions) => iteratePages(readPage, args, options),
    all: (args?: PagedArguments, options?: CallOptions) => iterateEntries(readPage, args, options),
  })
}

/** Every attempt of a call sends the same key, so that a repeated attempt cannot create or pay twice. */
const chooseIdempotencyKey = async ({ idempotency_key: given }: Arguments): Promise<string> =>
  typeof given === 'string' ? given : createIdempotencyKey()

function readResult(data: unknown, path: string): unknown {
  const result = path.split('.').reduce<unknown>((value, name) => (value as Arguments | null | undefined)?.[name], data)
  if (result === null || result === undefined) throw new PenstockError('INVALID_RESPONSE', `the answer has no ${path}`)
  return result
}

type NamedOperation = { readonly operation: OperationDescriptor; readonly namespaces: readonly string[]; readonly name: string }

/** The operations with their names in camel case. */
const namedOperations: readonly NamedOperation[] = operationTable.map((operation) => {
  const names = operation.path.split('.').map(toCamelCase)
  return { operation, namespaces: names.slice(0, -1), name: names.at(-1) ?? '' }
})

function createNamespaces(run: Run): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const { operation, namespaces, name } of namedOperations) {
    let namespace = root
    for (const inner of namespaces) namespace = (namespace[inner] ??= {}) as Record<string, unknown> // no operation is above another
    namespace[name] = createFunction(run, operation)
  }
  return root
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
