import { HOUR_MS } from '@penstock/kernel/time.ts'
import type { Pepper } from '@penstock/credentials/credentials.ts'
import { toReachableHost } from '@penstock/config/reachable-host.ts'
import { type ServiceJob, defineService, type Service } from '@penstock/runtime/service.ts'
import { areas } from './areas.ts'
import { openReadModelWaiters } from './commands/read-model-waiters.ts'
import { createGatewayApp, type Mount } from './http/app.ts'
import { startHttpServer } from './http/http-server.ts'
import { hashOrderPage } from './pages/page-url.ts'
import type { GatewayPorts } from './ports.ts'
import { pruneCommands } from './commands/command-outcomes.ts'
import { createGatewayProjections } from './projections.ts'

export type GatewayOptions = {
  readonly pepper: Pepper
  /** Routes in addition to GraphQL. */
  readonly mounts?: readonly Mount[]
  /** Called with the server's local URL once the server listens. */
  readonly onListening?: (url: string) => void
}

const READINESS_POLL_MS = 20

/** The only public service. It answers queries and commands from the read models. */
export function createGatewayService({ pepper, mounts = [], onListening }: GatewayOptions): Service<GatewayPorts> {
  const waiters = openReadModelWaiters()

  const runHttpServer: ServiceJob<GatewayPorts>['run'] = async ({ ports, send }, signal) => {
    const { config, log } = ports
    let listenUrl = ''
    // On a shared port, a process that cannot serve yet would accept connections that ready processes could serve.
    // `readiness` returns undefined when the process can serve.
    while (config.sharePort && !signal.aborted && (await ports.readiness()) !== undefined)
      await ports.clock.sleep(READINESS_POLL_MS, signal)
    if (signal.aborted) return
    const { app, close } = await createGatewayApp({
      ports,
      send,
      waiters,
      pepper,
      mounts,
      baseUrl: () => (config.publicUrl || listenUrl).replace(/\/+$/, ''),
      closing: signal,
    })
    const server = await startHttpServer(app, config)
    listenUrl = `http://${toReachableHost(config.host)}:${server.port}`
    log.info({ url: listenUrl }, 'the gateway listens')
    const removeGaugeReaders = areas.map(
      ({ createGaugeReader }) => createGaugeReader && ports.gauges?.addReader(createGaugeReader(ports)),
    )
    onListening?.(listenUrl)
    await new Promise<void>((stop) => (signal.aborted ? stop() : signal.addEventListener('abort', () => stop(), { once: true })))
    for (const remove of removeGaugeReaders) remove?.()
    await server.close()
    await close()
  }
  const runPruneLoop: ServiceJob<GatewayPorts>['run'] = async ({ ports, send }, signal) => {
    const { views, clock } = ports
    while (!signal.aborted) {
      await pruneCommands(views, clock.now())
      for (const { prune } of areas) await prune?.({ ...ports, send })
      await clock.sleep(HOUR_MS, signal)
    }
  }
  return defineService<GatewayPorts>('gateway', {
    projections: createGatewayProjections(waiters, (orderId) => hashOrderPage(pepper, orderId)),
    jobs: [
      // After a restore, the server answers queries; the runtime then refuses the command of a mutation.
      { name: 'http', run: runHttpServer, isReadOnly: true },
      { name: 'prune', run: runPruneLoop },
    ],
  })
}
