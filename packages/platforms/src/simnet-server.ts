import { serveSimnet } from '@penstock/adapters/simnet/remote/server.ts'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { serveHealth } from '@penstock/runtime/observability/health-server.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { startObservability } from './observe.ts'
import { loadConfig } from '@penstock/config/load-config.ts'
import { closeOnSignal } from '@penstock/child-processes/shutdown.ts'

/** Serves the simulated network to the processes of a cluster until SIGTERM. No blocks are mined while it is down. */
export async function serveSimulatedNetwork(env: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig(env)
  const { dataDir, simBlockSeconds, host, port, healthHost, healthPort } = config
  const simnet = openSimnet({ path: openDataDir(dataDir).simnet, blockSeconds: simBlockSeconds, clock: systemClock })
  const server = await serveSimnet(simnet, host, port)
  const about = { name: 'simnet', instance: 'simnet', pid: process.pid }
  const { observability, end } = await startObservability(
    config,
    { service: 'simnet', instance: 'simnet' },
    openLogger(config.logLevel, config.logFormat),
  )
  const health = await serveHealth(
    { host: healthHost || host, port: healthPort, about, gauges: observability.gauges },
    () => undefined,
  )
  closeOnSignal(async () => {
    await server.close()
    await health.close()
    await simnet.close()
    await end()
  })
}
