import type { ErrorRequestHandler, Express, Request, Response } from 'express'
import { readErrorStatus } from '../http/error-status.ts'
import { reportInternalError } from '../http/graphql/format-error.ts'
import type { Gateway } from '../ports.ts'
import { findRoot } from './page-url.ts'
import { renderPage, type Template } from './render-page.ts'

export function sendPage({ path }: Request, response: Response, template: Template, values: object): void {
  response
    .set('cache-control', 'no-store')
    .type('html')
    .send(renderPage(template, findRoot(path), values))
}

export const sendNotFound = (request: Request, response: Response): void => sendPage(request, response.status(404), 'missing', {})

/** Whether a browser shows the answer to a person. Programs get the usual JSON. */
const isVisit = (request: Request): boolean => request.accepts(['json', 'html']) === 'html'

/** Answers GET and HEAD of every remaining path, and every error that no route handled, with a page. */
export function mountRemainingPages(app: Express, gateway: Pick<Gateway, 'log'>): void {
  app.use((request: Request, response: Response, next) => {
    if (['GET', 'HEAD'].includes(request.method) && isVisit(request)) sendNotFound(request, response)
    else next()
  })
  app.use(createErrorPageHandler(gateway))
}

const createErrorPageHandler =
  ({ log }: Pick<Gateway, 'log'>): ErrorRequestHandler =>
  (error: unknown, request, response, next) => {
    if (response.headersSent || !isVisit(request)) return next(error)
    // The path has a malformed percent-encoding, so no page has this address.
    if (error instanceof URIError) return sendNotFound(request, response)
    const status = readErrorStatus(error)
    const reference = status < 500 ? null : reportInternalError(log, error).extensions?.['reference']
    sendPage(request, response.status(status), 'failed', { status, reference })
  }
