import type { Request, RequestHandler, Response } from 'express'
import { registry, SECONDS } from '@penstock/runtime/metrics.ts'
import type { TracedRequest } from '@penstock/runtime/tracing.ts'
import { Counter, Histogram } from 'prom-client'
import type { Gateway } from '../ports.ts'
import { methodName, routeName } from './route-name.ts'

const requests = new Counter({
  name: 'penstock_http_requests_total',
  help: 'Requests that were answered, by route, method and status; the status is `aborted` where the caller hung up.',
  labelNames: ['route', 'method', 'status'] as const,
  registers: [registry],
})

/** Streams of events last as long as somebody looks, and are in no duration. */
const seconds = new Histogram({
  name: 'penstock_http_request_duration_seconds',
  help: 'From the head of a request to the end of its answer.',
  labelNames: ['route', 'method'] as const,
  buckets: SECONDS,
  registers: [registry],
})

const graphqlErrors = new Counter({
  name: 'penstock_graphql_errors_total',
  help: 'Errors in answers of GraphQL, which come with HTTP 200, by their code.',
  labelNames: ['code'] as const,
  registers: [registry],
})

export const countErrors = (errors: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[]): void => {
  for (const { extensions } of errors) graphqlErrors.inc({ code: String(extensions?.['code']) })
}

/** Counts every request, and begins the traces of those that are about something. */
export const observed =
  ({ clock, tracing }: Pick<Gateway, 'clock' | 'tracing'>): RequestHandler =>
  (request, response, next) => {
    const since = clock.monotonicMs()
    const [route, method] = [routeName(request.path), methodName(request.method)]
    const counted = (traced?: TracedRequest): void => {
      response.once('close', () => {
        requests.inc({ route, method, status: statusOf(response) })
        if (!route.endsWith('/events')) seconds.observe({ route, method }, (clock.monotonicMs() - since) / 1000)
        traced?.end(`${method} ${route}`, httpAttributes(request, response, route), response.statusCode >= 500)
      })
      next()
    }
    if (tracing) tracing.request(request.get('traceparent'), counted)
    else counted()
  }

const statusOf = ({ writableFinished, statusCode }: Response): string => (writableFinished ? `${statusCode}` : 'aborted')

const httpAttributes = ({ method }: Request, { statusCode }: Response, route: string) => ({
  'penstock.service': 'gateway',
  'http.request.method': methodName(method),
  'http.route': route,
  'http.response.status_code': statusCode,
})
