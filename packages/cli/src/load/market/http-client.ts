import http from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { MarketAddress } from './market-address.ts'
import { createRequestSemaphore } from './semaphore.ts'
import { TIMED_OUT, RequestError, UNSENT } from './request-error.ts'

export type LoadRequest = {
  readonly body?: object
  readonly bearer?: string | undefined
  /** The timeout of this request, if it differs from that of the client. */
  readonly timeoutMs?: number
}
export type LoadResponse = { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }

/** An HTTP client for one market. Every request ends with an answer, or with a RequestError at its timeout. */
export type HttpClient = {
  /**
   * Waits for a connection, and then for the answer. The timeout applies to each of the two waits.
   * @throws RequestError if no whole answer came; any HTTP status is an answer
   */
  send(method: 'GET' | 'POST', path: string, loadRequest?: LoadRequest): Promise<LoadResponse>
  close(): void
}

export type HttpClientOptions = {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly connections?: number
  /** Receives the time that a request waited for a free connection of this client, and whether the request was then sent. */
  readonly onConnectionWait?: (ms: number, wasSent: boolean) => void
}

/** The largest number of concurrent requests. Further requests wait in this program, so that it can measure their wait. */
export const MAX_CONNECTIONS = 256
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Redirects are never followed, so that no other host gets a request. */
export function openHttpClient({ url, addresses }: MarketAddress, options: HttpClientOptions): HttpClient {
  const { timeoutMs, signal, connections = MAX_CONNECTIONS, onConnectionWait = () => undefined } = options
  const module = url.protocol === 'https:' ? https : http
  const agent = new module.Agent({ keepAlive: true, maxSockets: connections, lookup: pinLookup(addresses) })
  const semaphore = createRequestSemaphore(connections)
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  const createTimeoutSignal = (ms: number): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(ms)])
  /** Sends the request at once. It releases its permit when the request closes, with or without an answer. */
  const sendNow: HttpClient['send'] = (method, path, { body, bearer, timeoutMs: requestTimeoutMs = timeoutMs } = {}) =>
    new Promise<LoadResponse>((resolve, reject) => {
      const text = body && JSON.stringify(body)
      const fail = (error: Error): void => reject(toRequestError(error, signal))
      const headers = {
        accept: 'application/json, text/html',
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      }
      const request = module.request(
        `${base}${path}`,
        { method, agent, headers, signal: createTimeoutSignal(requestTimeoutMs) },
        (response) => {
          readResponse(response).then(resolve, fail)
        },
      )
      request.once('close', semaphore.release).on('error', fail).end(text)
    })
  return {
    async send(method, path, loadRequest = {}) {
      if (semaphore.tryAcquire()) {
        onConnectionWait(0, true)
        return sendNow(method, path, loadRequest)
      }
      const waitStartedAt = performance.now()
      const wasSent = await semaphore.acquire(createTimeoutSignal(loadRequest.timeoutMs ?? timeoutMs))
      if (!wasSent && signal.aborted) throw createStoppedError()
      onConnectionWait(performance.now() - waitStartedAt, wasSent)
      if (!wasSent) throw new RequestError(UNSENT, `none of the ${connections} connections of this program was free in time`)
      return sendNow(method, path, loadRequest)
    },
    close: () => agent.destroy(),
  }
}

/** Resolves the host to the checked addresses, even if its name has other addresses now. */
const pinLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    const [first] = found
    if (all) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }

async function readResponse(response: http.IncomingMessage): Promise<LoadResponse> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    // The cast is safe, because a response without an encoding consists of Buffers.
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw new RequestError('too large', `the answer is larger than ${MAX_BODY_BYTES} bytes`)
    parts.push(part)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }
}

function toRequestError(error: Error & { code?: string; cause?: unknown }, signal: AbortSignal): RequestError {
  if (error instanceof RequestError) return error
  if (signal.aborted) return createStoppedError()
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return new RequestError(TIMED_OUT, 'no answer came in time')
  return new RequestError(error.code ?? error.name, error.message)
}

const createStoppedError = (): RequestError => new RequestError('stopped', 'the run was ended')
