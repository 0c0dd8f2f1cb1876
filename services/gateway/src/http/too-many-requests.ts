import { HeaderMap } from '@apollo/server'
import { GraphQLError } from 'graphql'

export type ExceededLimit = { readonly name: string; readonly limit: number; readonly retryAfterMs: number }

/** Creates the headers of a limit, in the form of draft-ietf-httpapi-ratelimit-headers. */
export function createRateLimitHeaders({ name, limit, retryAfterMs }: ExceededLimit): ReadonlyMap<string, string> {
  const seconds = `${Math.max(1, Math.ceil(retryAfterMs / 1000))}`
  return new Map([
    ['retry-after', seconds],
    ['ratelimit', `"${name}";r=0;t=${seconds}`],
    ['ratelimit-policy', `"${name}";q=${limit};w=60`],
  ])
}

/** Creates an error that sets the answer's status to 429, so that a caller need not read the body. */
export const tooManyRequests = (exceeded: ExceededLimit): GraphQLError =>
  new GraphQLError('Too many requests. Wait before you try again.', {
    extensions: { code: 'FORBIDDEN', http: { status: 429, headers: new HeaderMap(createRateLimitHeaders(exceeded)) } },
  })
