import { createClientWithTiming, type ClientOptions, type PenstockClient } from './client.ts'
import type { FetchFunction, FetchResponse } from './transport.ts'

export type SentRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
}

/** A step of the fake server: an answer, a lost connection, or silence until the request is aborted. */
type FakeAnswer = FetchResponse | 'lost' | 'silent'

export const answerWith = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): FetchResponse => ({
  status,
  headers: { get: (name) => headers[name] ?? null },
  text: async () => (typeof body === 'string' ? body : JSON.stringify(body)),
})

export const refuseWith = (code: string, message = 'refused', extensions: object = {}): FetchResponse =>
  answerWith({ data: null, errors: [{ message, extensions: { code, ...extensions } }] })

export const createdTransaction = answerWith({ data: { payment: { transaction: { create_receive: { id: 't1' } } } } })

export const ATTEMPT_TIMEOUT_MS = 1234

/** A client of a fake server that gives one answer after the other, with its requests and the waits between them. */
export function createFakeClient(answers: readonly FakeAnswer[], options: Partial<ClientOptions> = {}) {
  const requests: SentRequest[] = []
  const waits: number[] = []
  const fetch: FetchFunction = async (url, { headers, body, signal }) => {
    const answer = answers[requests.length]
    // The client wrote the body.
    requests.push({ url, headers, ...(JSON.parse(body) as Pick<SentRequest, 'query' | 'variables'>) })
    if (answer === 'silent') return untilAborted(signal)
    if (answer === 'lost' || answer === undefined) throw new TypeError('fetch failed')
    return answer
  }
  const client: PenstockClient = createClientWithTiming(
    { url: 'https://penstock.example', timeoutMs: ATTEMPT_TIMEOUT_MS, fetch, ...options },
    {
      random: () => 1,
      // The timeout passes at once if the server is silent, and never otherwise.
      delay: async (ms, signal) => {
        if (ms !== ATTEMPT_TIMEOUT_MS) waits.push(ms)
        else if (answers[requests.length] !== 'silent') return untilAborted(signal)
      },
    },
  )
  return { client, requests, waits }
}

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })
