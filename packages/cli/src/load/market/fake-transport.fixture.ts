import type { LoadResponse, OutgoingRequest, Transport } from './http-transport.ts'

/** The body of an answer; undefined if the market never answers the request. */
type Answer = object | undefined

/** A market without a network. */
export const createFakeTransport = (answer: (request: OutgoingRequest) => Answer | Promise<Answer>): Transport => ({
  async send(request, signal, onClose) {
    const aborted = Promise.withResolvers<LoadResponse>()
    const abort = (): void => aborted.reject(new DOMException('the request was aborted', 'AbortError'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    const answered = (async (): Promise<LoadResponse> => {
      const body = await answer(request)
      return body ? { status: 200, headers: {}, text: JSON.stringify(body) } : aborted.promise
    })()
    try {
      return await Promise.race([answered, aborted.promise])
    } finally {
      onClose()
    }
  },
  close: () => undefined,
})
