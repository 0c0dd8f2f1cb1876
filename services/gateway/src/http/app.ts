import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { Pepper } from '@penstock/credentials/credentials.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import { createReadOnlyCommands, openCommands } from '../commands/commands.ts'
import type { ReadModelWaiters } from '../commands/read-model-waiters.ts'
import { reportInternalError } from './graphql/format-error.ts'
import { createGraphqlServer } from './graphql/server.ts'
import { createPurchaseAdmission } from '../market/purchase/admission.ts'
import type { Gateway, GatewayPorts } from '../ports.ts'
import { openNodeDirectory } from '../node-directory.ts'
import { readErrorStatus } from './error-status.ts'
import { mountExplorerRoutes } from './explorer.ts'
import { mountGraphqlRoutes, rejectOtherMethods } from './graphql-routes.ts'
import { mountHealthRoutes } from './health.ts'
import { collapseSlashes, normalizeContentType } from './lenient-requests.ts'
import { observeRequests } from './observe.ts'
import { setPermissionsPolicy, assignRequestId, setSecurityHeaders } from './security.ts'

/** Adds routes of one kind (REST, pages, operators) to the public app. */
export type Mount = (app: Express, gateway: Gateway) => void

export type GatewayAppDependencies = {
  readonly ports: GatewayPorts & BasePorts
  readonly send: ServiceContext<object>['send']
  /** The waiting requests, which the projections wake. */
  readonly waiters: ReadModelWaiters
  readonly pepper: Pepper
  readonly baseUrl: () => string
  readonly closing: AbortSignal
  readonly mounts: readonly Mount[]
}

export type GatewayApp = { readonly app: Express; readonly gateway: Gateway; readonly close: () => Promise<void> }

/** Builds one express app with all routes. The caller chooses where it listens. */
export async function createGatewayApp({
  ports,
  send,
  waiters,
  pepper,
  baseUrl,
  closing,
  mounts,
}: GatewayAppDependencies): Promise<GatewayApp> {
  const liveCommands = openCommands({ views: ports.views, clock: ports.clock, ids: ports.ids, waiters, send })
  const commands = ports.config.restored ? createReadOnlyCommands(liveCommands) : liveCommands
  const lookUpNode = openNodeDirectory(ports.peers, ports.clock)
  const admission = createPurchaseAdmission(ports.clock, ports.config.buyAnswerSeconds * SECOND_MS)
  const gateway: Gateway = { ...ports, lookUpNode, admission, commands, waiters, send, pepper, baseUrl, closing }
  const server = await createGraphqlServer(ports.config, ports.log)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', ports.config.trustProxy)
  app.use(collapseSlashes, normalizeContentType)
  app.use(assignRequestId, observeRequests(gateway), setSecurityHeaders, setPermissionsPolicy)
  mountHealthRoutes(app, gateway)
  mountGraphqlRoutes(app, gateway, server)
  mountExplorerRoutes(app)
  rejectOtherMethods(app)
  for (const mount of mounts) mount(app, gateway)
  app.use((_: Request, response: Response) => {
    response.status(404).json({ statusCode: 404, message: 'There is nothing at this address.' })
  })
  app.use(createErrorHandler(gateway))
  return { app, gateway, close: () => server.stop() }
}

/** Answers errors that no route handled: 4xx for a malformed request, else 500 with a reference to the log. */
function createErrorHandler({ log }: Gateway): ErrorRequestHandler {
  return (error: unknown, _, response, next) => {
    if (response.headersSent) return next(error)
    const status = readErrorStatus(error)
    if (status < 500) response.status(status).json({ statusCode: status, message: 'The request is malformed.' })
    else response.status(500).json({ statusCode: 500, message: reportInternalError(log, error).message })
  }
}
