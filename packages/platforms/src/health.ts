import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Gauges } from '@penstock/runtime/gauges.ts'
import { commandsHandled, factsConsumed } from '@penstock/runtime/metrics.ts'

export type HealthOptions = {
  readonly host: string
  readonly port: number
  readonly about: object
  readonly gauges: Gauges
}

export type HealthServer = { readonly port: number; close(): Promise<void> }

/**
 * What operators and orchestrators ask of a service that runs as its own process: `/healthz` (it lives), `/readyz`
 * (it takes work), `/metrics` (Prometheus) and `/status` (its name and how much it has handled).
 * @param ready undefined when it takes work, else what it waits for
 */
export async function serveHealth(
  { host, port, about, gauges }: HealthOptions,
  ready: () => string | undefined,
): Promise<HealthServer> {
  const answers: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    '/healthz': (response) => json(response, 200, { status: 'ok' }),
    '/readyz': (response) => {
      const missing = ready()
      return missing === undefined
        ? json(response, 200, { status: 'ready' })
        : json(response, 503, { status: 'not ready', missing })
    },
    '/metrics': async (response) => {
      const { contentType, text } = await gauges.page()
      response.setHeader('content-type', contentType).end(text)
    },
    '/status': async (response) => json(response, 200, { ...about, handled: await handled() }),
  }
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    if (answer) void answer(response)
    else json(response, 404, { statusCode: 404, message: 'There are /healthz, /readyz, /metrics and /status.' })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const json = (response: ServerResponse, status: number, body: object): unknown =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Commands that were decided and facts that were consumed. */
async function handled(): Promise<number> {
  const sum = (values: readonly { readonly value: number }[]) => values.reduce((total, { value }) => total + value, 0)
  return sum((await commandsHandled.get()).values) + sum((await factsConsumed.get()).values)
}
