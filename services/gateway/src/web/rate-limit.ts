import { HeaderMap } from '@apollo/server'
import { GraphQLError } from 'graphql'

export type Exceeded = { readonly name: string; readonly limit: number; readonly retryAfterMs: number }

/** The headers of a limit, as draft-ietf-httpapi-ratelimit-headers writes them. */
export function limitHeaders({ name, limit, retryAfterMs }: Exceeded): ReadonlyMap<string, string> {
  const seconds = `${Math.max(1, Math.ceil(retryAfterMs / 1000))}`
  return new Map([
    ['retry-after', seconds],
    ['ratelimit', `"${name}";r=0;t=${seconds}`],
    ['ratelimit-policy', `"${name}";q=${limit};w=60`],
  ])
}

/** An error that makes the whole answer a 429, so that a caller sees it without reading the body. */
export const tooMany = (exceeded: Exceeded): GraphQLError =>
  new GraphQLError('Too many requests. Wait before you try again.', {
    extensions: { code: 'FORBIDDEN', http: { status: 429, headers: new HeaderMap(limitHeaders(exceeded)) } },
  })
