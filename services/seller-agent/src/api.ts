import { Fault } from '@penstock/kernel/result.ts'
import { z } from 'zod'

/** The market understood and said no; the same call will be refused again. Everything else that goes wrong is a Fault. */
export class MarketRefusal extends Error {
  override readonly name = 'MarketRefusal'
}

/** One GraphQL call, checked against what the agent expects. @throws MarketRefusal, Fault */
export type Call = <T>(query: string, variables: object, answer: z.ZodType<T>) => Promise<T>

/** Carries a request to the market and its answer's body back. @throws Fault where there is none */
export type Post = (url: string, body: object, bearer: string | undefined, signal: AbortSignal) => Promise<unknown>

export type ApiOptions = {
  /** The market's base address, without /graphql. */
  readonly url: string
  /** An API key or a dashboard token; left out where none is needed. */
  readonly bearer?: string
  /** Breaks off what is under way: its outcome is unknown then, as after a lost connection. */
  readonly signal: AbortSignal
  /** Another way to the market than HTTP. */
  readonly post?: Post
}

// The market answers within 10 s or says that it could not.
const PATIENCE_MS = 20_000

const envelope = z.object({
  data: z.unknown(),
  errors: z
    .array(z.object({ message: z.string(), extensions: z.object({ code: z.string(), reason: z.string() }).partial().optional() }))
    .optional(),
})

/** Reasons that speak of the moment: a market that is restored, a call before this one, a call that came too late. */
const notNow: ReadonlySet<string> = new Set(['READ_ONLY', 'BUSY', 'TOO_LATE'])

export const openApi =
  ({ url, bearer, signal, post = byHttp }: ApiOptions): Call =>
  async (query, variables, answer) => {
    const { data, errors } = answered(await post(`${url}/graphql`, { query, variables }, bearer, signal))
    const [error] = errors ?? []
    const { code, reason = '' } = error?.extensions ?? {}
    if (error && code === 'GRAPHQL_VALIDATION_FAILED' && !notNow.has(reason)) throw new MarketRefusal(error.message)
    // A key that does not open is mended by a person; no funding is given up for it.
    if (error) throw new Fault(`the market answered: ${error.message}`)
    const parsed = answer.safeParse(data)
    if (!parsed.success) throw new Fault(`the market answered in another form: ${z.prettifyError(parsed.error)}`)
    return parsed.data
  }

function answered(body: unknown): z.output<typeof envelope> {
  const parsed = envelope.safeParse(body)
  if (!parsed.success) throw new Fault(`the market answered in another form: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

const byHttp: Post = async (url, body, bearer, signal) => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
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
