import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Gauges } from './gauges.ts'
import { commandsHandled, factsConsumed } from './metrics.ts'

export type HealthOptions = {
  readonly host: string
  readonly port: number
  readonly about: object
  readonly gauges: Gauges
}

export type HealthServer = { readonly port: number; close(): Promise<void> }

/**
 * Serves the endpoints of a service that runs as its own process: `/healthz` (the process runs), `/readyz` (it accepts work),
 * `/metrics` (Prometheus) and `/status` (its name and the number of handled messages).
 * @param findMissing returns undefined if the service accepts work, else what it waits for
 */
export async function serveHealth(
  { host, port, about, gauges }: HealthOptions,
  findMissing: () => string | undefined,
): Promise<HealthServer> {
  const routes: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    '/healthz': (response) => sendJson(response, 200, { status: 'ok' }),
    '/readyz': (response) => {
      const missing = findMissing()
      return missing === undefined
        ? sendJson(response, 200, { status: 'ready' })
        : sendJson(response, 503, { status: 'not ready', missing })
    },
    '/metrics': async (response) => {
      const { contentType, text } = await gauges.render()
      response.setHeader('content-type', contentType).end(text)
    },
    '/status': async (response) => sendJson(response, 200, { ...about, handled: await countHandled() }),
  }
  const server = createServer((request, response) => {
    const answer = routes[request.url ?? '']
    if (answer) void answer(response)
    else sendJson(response, 404, { statusCode: 404, message: 'There are /healthz, /readyz, /metrics and /status.' })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  return {
    port: (server.address() as AddressInfo).port, // The server listens on TCP.
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const sendJson = (response: ServerResponse, status: number, body: object): unknown =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** @returns the number of decided commands and consumed facts */
async function countHandled(): Promise<number> {
  const sum = (values: readonly { readonly value: number }[]) => values.reduce((total, { value }) => total + value, 0)
  return sum((await commandsHandled.get()).values) + sum((await factsConsumed.get()).values)
}
