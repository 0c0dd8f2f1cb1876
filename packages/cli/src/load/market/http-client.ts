import { type LoadClock, processClock } from '../load-clock.ts'
import { type LoadResponse, openHttpTransport, type OutgoingRequest } from './http-transport.ts'
import type { MarketAddress } from './market-address.ts'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import { TIMED_OUT, RequestError, UNSENT } from './request-error.ts'

export type LoadRequest = Pick<OutgoingRequest, 'body' | 'bearer'> & {
  /** The timeout of this request, if it differs from that of the client. */
  readonly timeoutMs?: number
}

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
  readonly clock?: LoadClock
  readonly openTransport?: typeof openHttpTransport
}

/** The largest number of concurrent requests. Further requests wait in this program, so that it can measure their wait. */
export const MAX_CONNECTIONS = 256

export function openHttpClient(marketAddress: MarketAddress, options: HttpClientOptions): HttpClient {
  const { timeoutMs, signal, connections = MAX_CONNECTIONS, onConnectionWait = () => undefined } = options
  const { clock = processClock, openTransport = openHttpTransport } = options
  const transport = openTransport(marketAddress, connections)
  const semaphore = createSemaphore(connections)
  /** @param run gets a signal that aborts at the timeout and at the end of the run */
  async function withTimeout<T>(ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [timeout, ended] = [new AbortController(), new AbortController()]
    void clock.sleep(ms, ended.signal).then(() => {
      if (!ended.signal.aborted) timeout.abort()
    })
    try {
      return await run(AbortSignal.any([signal, timeout.signal]))
    } finally {
      // The default abort reason would capture a stack.
      ended.abort('ended')
    }
  }
  const sendNow = (request: OutgoingRequest, ms: number): Promise<LoadResponse> =>
    withTimeout(ms, (requestSignal) => transport.send(request, requestSignal, semaphore.release)).catch((error: Error) => {
      throw toRequestError(error, signal)
    })
  return {
    async send(method, path, { timeoutMs: requestTimeoutMs = timeoutMs, ...loadRequest } = {}) {
      const request = { method, path, ...loadRequest }
      if (semaphore.tryAcquire()) {
        onConnectionWait(0, true)
        return sendNow(request, requestTimeoutMs)
      }
      const waitStartedAt = clock.monotonicMs()
      const wasSent = await withTimeout(requestTimeoutMs, semaphore.acquire)
      if (!wasSent && signal.aborted) throw createStoppedError()
      onConnectionWait(clock.monotonicMs() - waitStartedAt, wasSent)
      if (!wasSent) throw new RequestError(UNSENT, `none of the ${connections} connections of this program was free in time`)
      return sendNow(request, requestTimeoutMs)
    },
    close: () => transport.close(),
  }
}

function toRequestError(error: Error & { code?: string }, signal: AbortSignal): RequestError {
  if (error instanceof RequestError) return error
  if (signal.aborted) return createStoppedError()
  if (error.name === 'AbortError') return new RequestError(TIMED_OUT, 'no answer came in time')
  return new RequestError(error.code ?? error.name, error.message)
}

const createStoppedError = (): RequestError => new RequestError('stopped', 'the run was ended')
