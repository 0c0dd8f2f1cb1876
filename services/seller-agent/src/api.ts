import { Fault } from '@penstock/kernel/result.ts'
import { z } from 'zod'

/** The market refused the call, and would refuse the same call again. Every other failure is a Fault. */
export class MarketRefusal extends Error {
  override readonly name = 'MarketRefusal'
}

/** One GraphQL call, whose answer is checked against a schema. @throws MarketRefusal, Fault */
export type MarketCall = <T>(query: string, variables: object, answer: z.ZodType<T>) => Promise<T>

/** Sends a request to the market. @returns the body of the answer @throws Fault if there is no answer */
export type PostRequest = (url: string, body: object, bearer: string | undefined, signal: AbortSignal) => Promise<unknown>

export type ApiOptions = {
  /** The market's base address, without /graphql. */
  readonly url: string
  /** An API key or a dashboard token; left out if none is needed. */
  readonly bearer?: string
  /** Aborts running calls. The outcome of an aborted call is unknown, as after a lost connection. */
  readonly signal: AbortSignal
  /** A transport that replaces HTTP. */
  readonly post?: PostRequest
}

// The market answers within 10 s, with an error if it could not carry out the call in time.
const REQUEST_TIMEOUT_MS = 20_000

const envelopeSchema = z.object({
  data: z.unknown(),
  errors: z
    .array(z.object({ message: z.string(), extensions: z.object({ code: z.string(), reason: z.string() }).partial().optional() }))
    .optional(),
})

/** Reasons of temporary refusals: the market is being restored, another call is running, or the call came too late. */
const TEMPORARY_REASONS: ReadonlySet<string> = new Set(['READ_ONLY', 'BUSY', 'TOO_LATE'])

export const openMarketApi =
  ({ url, bearer, signal, post = postByHttp }: ApiOptions): MarketCall =>
  async (query, variables, answer) => {
    const { data, errors } = parseEnvelope(await post(`${url.replace(/\/+$/, '')}/graphql`, { query, variables }, bearer, signal))
    const [error] = errors ?? []
    const { code, reason = '' } = error?.extensions ?? {}
    if (error && code === 'GRAPHQL_VALIDATION_FAILED' && !TEMPORARY_REASONS.has(reason)) throw new MarketRefusal(error.message)
    // Every other error, such as an invalid key, is a Fault: the agent retries, and abandons no funding.
    if (error) throw new Fault(`the market answered: ${error.message}`)
    const parsed = answer.safeParse(data)
    if (!parsed.success) throw new Fault(`unexpected answer from the market: ${z.prettifyError(parsed.error)}`)
    return parsed.data
  }

function parseEnvelope(body: unknown): z.output<typeof envelopeSchema> {
  const parsed = envelopeSchema.safeParse(body)
  if (!parsed.success) throw new Fault(`unexpected answer from the market: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

const postByHttp: PostRequest = async (url, body, bearer, signal) => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Fault(`the market answered HTTP ${response.status}`)
    const answer: unknown = JSON.parse(text)
    return answer
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault(`the market cannot be reached at ${url}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
