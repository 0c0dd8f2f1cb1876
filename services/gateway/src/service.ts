import { HOUR_MS } from '@penstock/kernel/time.ts'
import type { Pepper } from '@penstock/runtime/credentials.ts'
import { type Job, service, type Service } from '@penstock/runtime/service.ts'
import { openWaits } from './commands/waits.ts'
import { createGateway, type Mount } from './http.ts'
import { listen } from './listen.ts'
import { eraseDeleted } from './operations/erase.ts'
import { pruneSlots } from './operations/slots.ts'
import { pageHashOfOrder } from './pages/address.ts'
import type { GatewayPorts } from './ports.ts'
import { pruneCommands } from './views/commands.ts'
import { marketNow } from './read/gauges.ts'
import { pruneSessions } from './views/sessions.ts'
import { gatewayProjections } from './views/projections.ts'

export type GatewayOptions = {
  readonly pepper: Pepper
  /** Routes beside GraphQL. */
  readonly mounts?: readonly Mount[]
  /** Told the address once it listens. */
  readonly listening?: (url: string) => void
}

const LOOK_MS = 20

/** The only public door: read models, and commands that are answered from them. */
export function gateway({ pepper, mounts = [], listening }: GatewayOptions): Service<GatewayPorts> {
  const waits = openWaits()

  const http: Job<GatewayPorts>['run'] = async ({ ports, send }, signal) => {
    const { config, log } = ports
    let url = config.url
    // Where others listen on the same port, a process that cannot serve yet would take their connections.
    while (config.sharePort && !signal.aborted && (await ports.readiness()) !== undefined)
      await ports.clock.sleep(LOOK_MS, signal)
    if (signal.aborted) return
    const { app, close } = await createGateway({ ports, send, waits, pepper, mounts, baseUrl: () => url, closing: signal })
    const server = await listen(app, config)
    url = (config.url || `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`).replace(
      /\/+$/,
      '',
    )
    log.info({ url }, 'the gateway listens')
    const unwatch = ports.gauges?.watch(marketNow(ports))
    listening?.(url)
    await new Promise<void>((stop) => (signal.aborted ? stop() : signal.addEventListener('abort', () => stop(), { once: true })))
    unwatch?.()
    await server.close()
    await close()
  }
  const prune: Job<GatewayPorts>['run'] = async ({ ports, send }, signal) => {
    const { views, clock } = ports
    while (!signal.aborted) {
      await eraseDeleted({ ...ports, send })
      await pruneCommands(views, clock.now())
      await pruneSlots(views, clock.now())
      await pruneSessions(views, clock.now())
      await clock.sleep(HOUR_MS, signal)
    }
  }
  return service<GatewayPorts>('gateway', {
    projections: gatewayProjections(waits, (orderId) => pageHashOfOrder(pepper, orderId)),
    jobs: [
      { name: 'http', run: http, looksOnly: true },
      { name: 'prune', run: prune },
    ],
  })
}
