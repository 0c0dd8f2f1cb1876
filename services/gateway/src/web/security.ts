import type { RequestHandler } from 'express'
import helmet from 'helmet'
import { randomUUID } from 'node:crypto'

/** Pages run their own scripts and styles, and talk to this service only. */
export const securityHeaders: RequestHandler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      fontSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  // Only for this name: what else runs under the operator's domain is not ours to decide.
  strictTransportSecurity: { includeSubDomains: false },
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
})

const ids = new WeakMap<object, string>()

/** Each request has an id, which its answer and its log lines carry; the caller's own is kept where it is a sane one. */
export const requestId: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id')
  const id = given !== undefined && /^[\w.:-]{8,64}$/.test(given) ? given : randomUUID()
  ids.set(request, id)
  response.set('x-request-id', id)
  next()
}

export const requestIdOf = (request: object): string => ids.get(request) ?? ''

const allowedHeaders = [
  'authorization',
  'content-type',
  'accept',
  'x-request-id',
  // What clients of Apollo send by themselves.
  'apollo-require-preflight',
  'apollographql-client-name',
  'apollographql-client-version',
  'x-apollo-operation-name',
].join(', ')

/**
 * Any origin may call: a caller is known by its Bearer alone and never by a cookie, so a foreign page can do nothing that
 * its author could not do without it.
 */
export const openToAllOrigins: RequestHandler = (request, response, next) => {
  response.set('access-control-allow-origin', '*')
  response.set('access-control-expose-headers', 'x-request-id, retry-after, ratelimit, ratelimit-policy')
  if (request.method !== 'OPTIONS') return next()
  response.set('access-control-allow-methods', 'GET, POST, OPTIONS')
  response.set('access-control-allow-headers', allowedHeaders)
  response.set('access-control-max-age', '86400')
  response.status(204).end()
}
