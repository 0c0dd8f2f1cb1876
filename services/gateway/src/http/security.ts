import type { RequestHandler } from 'express'
import helmet from 'helmet'
import { randomUUID } from 'node:crypto'

/** Pages run only their own scripts and styles, and connect only to this service. */
export const setSecurityHeaders: RequestHandler = helmet({
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
  // Only for this host, because the operator may run other services under its domain.
  strictTransportSecurity: { includeSubDomains: false },
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
})

/** Browser features that our pages do not use. */
const UNUSED = [
  'accelerometer',
  'autoplay',
  'bluetooth',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'hid',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'web-share',
  'xr-spatial-tracking',
]
/** Our own scripts copy an invoice to the clipboard. */
const PERMISSIONS = [...UNUSED.map((feature) => `${feature}=()`), 'clipboard-write=(self)'].join(', ')

/** Sets the W3C Permissions Policy, so that a script that was injected into a page cannot use these features. */
export const setPermissionsPolicy: RequestHandler = (_, response, next) => {
  response.set('permissions-policy', PERMISSIONS)
  next()
}

const ids = new WeakMap<object, string>()

/** Assigns the id of a request, for its answer and its log line. A well-formed id from the caller is used. */
export const assignRequestId: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id')
  const id = given !== undefined && /^[\w.:-]{8,64}$/.test(given) ? given : randomUUID()
  ids.set(request, id)
  response.set('x-request-id', id)
  next()
}

export const getRequestId = (request: object): string => ids.get(request) ?? ''

/**
 * Allows every origin, and the headers that a browser asks for, such as those of tracing. Only a header that a page sets
 * itself identifies a caller, never a cookie. So a page of another origin can do no more than its author could do without the page.
 */
export const allowAllOrigins: RequestHandler = (request, response, next) => {
  response.set('access-control-allow-origin', '*')
  response.set('access-control-expose-headers', 'x-request-id, link, retry-after, ratelimit, ratelimit-policy')
  if (request.method !== 'OPTIONS') return next()
  response.set('access-control-allow-methods', 'GET, POST, OPTIONS')
  // The wildcard does not include `authorization`.
  response.set('access-control-allow-headers', request.get('access-control-request-headers') ?? 'authorization, content-type')
  response.vary('access-control-request-headers')
  response.set('access-control-max-age', '86400')
  response.status(204).end()
}
