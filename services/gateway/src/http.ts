import type { Basics } from '@penstock/runtime/basics.ts'
import type { Pepper } from '@penstock/runtime/credentials.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import { closedCommands, openCommands } from './commands/commands.ts'
import type { Waits } from './commands/waits.ts'
import { internal } from './graphql/format-error.ts'
import { graphqlServer } from './graphql/server.ts'
import type { Gateway, GatewayPorts } from './ports.ts'
import { openNodeBook } from './read/node-book.ts'
import { explorerRoutes } from './web/explorer.ts'
import { graphqlRoutes, otherMethods } from './web/graphql-routes.ts'
import { healthRoutes } from './web/health.ts'
import { observed } from './web/observe.ts'
import { requestId, securityHeaders } from './web/security.ts'

/** Adds routes of one kind (REST, pages, operators) to the one public door. */
export type Mount = (app: Express, gateway: Gateway) => void

export type GatewayNeeds = {
  readonly ports: GatewayPorts & Basics
  readonly send: ServiceContext<object>['send']
  /** Those that the projections wake. */
  readonly waits: Waits
  readonly pepper: Pepper
  readonly baseUrl: () => string
  readonly closing: AbortSignal
  readonly mounts: readonly Mount[]
}

export type GatewayApp = { readonly app: Express; readonly gateway: Gateway; readonly close: () => Promise<void> }

/** All routes in one express app; whoever listens decides where. */
export async function createGateway({ ports, send, waits, pepper, baseUrl, closing, mounts }: GatewayNeeds): Promise<GatewayApp> {
  const open = openCommands({ views: ports.views, clock: ports.clock, ids: ports.ids, waits, send })
  const commands = ports.config.restored ? closedCommands(open) : open
  const nodes = openNodeBook(ports.peers, ports.clock)
  const gateway: Gateway = { ...ports, nodes, commands, waits, send, pepper, baseUrl, closing }
  const server = await graphqlServer(ports.config, ports.log)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', ports.config.trustProxy)
  app.use(observed(gateway), requestId, securityHeaders)
  healthRoutes(app, gateway)
  graphqlRoutes(app, gateway, server)
  explorerRoutes(app)
  otherMethods(app)
  for (const mount of mounts) mount(app, gateway)
  app.use((_: Request, response: Response) => {
    response.status(404).json({ statusCode: 404, message: 'There is nothing at this address.' })
  })
  app.use(lastResort(gateway))
  return { app, gateway, close: () => server.stop() }
}

/** What no route has answered: the caller's wrong request, or a fault of ours with a reference to the log. */
function lastResort({ log }: Gateway): ErrorRequestHandler {
  return (error: unknown, _, response, next) => {
    if (response.headersSent) return next(error)
    const status = statusOf(error)
    if (status < 500) response.status(status).json({ statusCode: status, message: 'The request is malformed.' })
    else response.status(500).json({ statusCode: 500, message: internal(log, error).message })
  }
}

/** Errors of express and its parsers carry the status of a caller's fault. */
function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500
}
