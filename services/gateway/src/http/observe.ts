import type { Request, RequestHandler, Response } from 'express'
import { registry, DURATION_BUCKETS } from '@penstock/runtime/observability/metrics.ts'
import type { TracedRequest } from '@penstock/runtime/observability/tracing.ts'
import { Counter, Histogram } from 'prom-client'
import type { Gateway } from '../ports.ts'
import { toMethodName, toRouteName } from './route-name.ts'
import { getRequestId } from './security.ts'

const requestCounter = new Counter({
  name: 'penstock_http_requests_total',
  help: 'Answered requests, by route, method and status. The status is `aborted` if the caller closed the connection.',
  labelNames: ['route', 'method', 'status'] as const,
  registers: [registry],
})

/** Event streams are excluded, because they last as long as their page is open. */
const durationHistogram = new Histogram({
  name: 'penstock_http_request_duration_seconds',
  help: 'Time from the headers of a request to the end of its answer.',
  labelNames: ['route', 'method'] as const,
  buckets: DURATION_BUCKETS,
  registers: [registry],
})

const graphqlErrors = new Counter({
  name: 'penstock_graphql_errors_total',
  help: 'Errors in GraphQL answers by their code. `MARKET_BUSY` stands for the refusals of a busy market.',
  labelNames: ['code'] as const,
  registers: [registry],
})

export const countErrors = (errors: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[]): void => {
  for (const { extensions } of errors) {
    // The specification gives the refusals of a busy market the code of a fault, which is the subject of an alert.
    const isBusy = extensions?.['retry_after'] !== undefined
    graphqlErrors.inc({ code: isBusy ? 'MARKET_BUSY' : String(extensions?.['code']) })
  }
}

/** Counts every request, logs it at debug, and starts its trace. */
export const observeRequests =
  ({ clock, tracing, log }: Pick<Gateway, 'clock' | 'tracing' | 'log'>): RequestHandler =>
  (request, response, next) => {
    const startedMs = clock.monotonicMs()
    const [route, method] = [toRouteName(request.path), toMethodName(request.method)]
    const observeResponse = (traced?: TracedRequest): void => {
      response.once('close', () => {
        const status = readStatus(response)
        const tookMs = clock.monotonicMs() - startedMs
        requestCounter.inc({ route, method, status })
        if (!route.endsWith('/events')) durationHistogram.observe({ route, method }, tookMs / 1000)
        log.debug(
          { request: getRequestId(request), method, route, status, took_ms: Math.round(tookMs) },
          'a request was answered',
        )
        traced?.end(`${method} ${route}`, toHttpAttributes(request, response, route), response.statusCode >= 500)
      })
      next()
    }
    if (tracing) tracing.request(request.get('traceparent'), observeResponse)
    else observeResponse()
  }

const readStatus = ({ writableFinished, statusCode }: Response): string => (writableFinished ? `${statusCode}` : 'aborted')

const toHttpAttributes = ({ method }: Request, { statusCode }: Response, route: string) => ({
  'penstock.service': 'gateway',
  'http.request.method': toMethodName(method),
  'http.route': route,
  'http.response.status_code': statusCode,
})
