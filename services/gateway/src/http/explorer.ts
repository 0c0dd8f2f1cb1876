import type { Express, Request, RequestHandler, Response } from 'express'
import { readFileSync } from 'node:fs'
import { printSchemaText } from './graphql/schema.ts'
import { findRoot } from '../pages/page-url.ts'

const readAsset = (name: string): string => readFileSync(new URL(`explorer/${name}`, import.meta.url), 'utf8')

const explorerHtml = readAsset('explorer.html')

/** Serves the explorer to browsers. A request with a query in its URL is passed on to GraphQL. */
export const serveExplorer: RequestHandler = (request, response, next) => {
  response.vary('accept')
  const hasQuery = request.query['query'] !== undefined || request.query['extensions'] !== undefined
  if (hasQuery || request.accepts('json', 'html') !== 'html') return next()
  response.removeHeader('cache-control')
  // Relative, so that the explorer also works under a path of the public address.
  const [path = ''] = request.originalUrl.split('?')
  response.type('html').send(explorerHtml.replaceAll('="/', `="${findRoot(path)}`))
}

/** Serves the files of the explorer, which loads no file from another origin. */
export function mountExplorerRoutes(app: Express): void {
  const serveText = (path: string, type: string, body: string): void => {
    app.get(path, (_: Request, response: Response) => {
      response.type(type).send(body)
    })
  }
  serveText('/graphql/explorer.mjs', 'text/javascript', readAsset('explorer.mjs'))
  serveText('/graphql/explorer.css', 'css', readAsset('explorer.css'))
  serveText('/graphql/schema.graphql', 'text/plain', printSchemaText())
}
