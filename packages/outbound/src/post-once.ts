import type { Dispatcher } from 'undici'
import { describeFailure } from './failed-call.ts'
import type { GuardedAgent } from './guarded-agent.ts'
import { readRetryAfter } from './retry-after.ts'

export type PostRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** The limit of the whole call: the check of the host, the connection, the request and the answer. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export type PostResult =
  /** `retryAfterSeconds` is null if the answer has no such header, or an invalid one. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterSeconds: number | null }
  /** `reason` is a part of a sentence. It contains neither a part of the answer nor a resolved address. */
  | { readonly kind: 'failed'; readonly reason: string }

/** The client reads this many bytes of an answer, and then closes the connection. The status of a longer answer counts. */
const MAX_ANSWER_BYTES = 4096

/** Sends one POST request, and follows no redirect. It never throws for a fault of the network or of the receiver. */
export function postOnce(agent: GuardedAgent, request: PostRequest): Promise<PostResult> {
  const { timeoutMs, signal } = request
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined
    let ended = false
    const end = (result: PostResult): void => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(result)
    }
    const giveUp = (reason: string): void => {
      end({ kind: 'failed', reason })
      controller?.abort(new Error(reason))
    }
    const stop = (): void => giveUp('the call was stopped')
    const timer = setTimeout(() => giveUp(`no complete answer within ${timeoutMs} ms`), timeoutMs)
    if (signal?.aborted) return stop()
    signal?.addEventListener('abort', stop)

    let answer: PostResult = { kind: 'failed', reason: 'no answer' }
    let answerBytes = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        // A call that ended before its connection was made is not sent.
        if (ended) started.abort(new Error('the call has ended'))
      },
      onResponseStart(_, status, headers) {
        // An informational response (RFC 9110, section 15.2) precedes the answer.
        if (status >= 200) answer = { kind: 'answered', status, retryAfterSeconds: readRetryAfter(headers) }
      },
      onResponseData(started, chunk) {
        answerBytes += chunk.length
        if (answerBytes <= MAX_ANSWER_BYTES) return
        end(answer)
        started.abort(new Error('the answer is longer than needed'))
      },
      onResponseEnd: () => end(answer),
      onResponseError: (_, error) => end({ kind: 'failed', reason: describeFailure(error) }),
    }
    try {
      const { origin, pathname, search } = new URL(request.url)
      agent.dispatch(
        { origin, path: `${pathname}${search}`, method: 'POST', headers: request.headers, body: toBytes(request.body) },
        handler,
      )
    } catch (error) {
      end({ kind: 'failed', reason: describeFailure(error) })
    }
  })
}

const toBytes = (body: string | Uint8Array): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
