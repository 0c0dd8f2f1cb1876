import { serveSimnet } from '@penstock/adapters/simnet/remote/server.ts'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openDataDir } from './data-dir.ts'
import { serveHealth } from './health.ts'
import { observe } from './observe.ts'
import { settingsOf } from './settings.ts'
import { onceSignalled } from './stopping.ts'

/** Keeps the simulated network for the processes of a cluster, until SIGTERM. It makes no blocks while it is down. */
export async function serveSimulatedNetwork(env: NodeJS.ProcessEnv): Promise<void> {
  const config = settingsOf(env)
  const { dataDir, simBlockSeconds, host, port, healthHost, healthPort } = config
  const simnet = openSimnet({ path: openDataDir(dataDir).simnet, blockSeconds: simBlockSeconds, clock: systemClock })
  const server = await serveSimnet(simnet, host, port)
  const about = { name: 'simnet', instance: 'simnet', pid: process.pid }
  const { seen, end } = await observe(config, { service: 'simnet', instance: 'simnet' })
  const health = await serveHealth({ host: healthHost || host, port: healthPort, about, gauges: seen.gauges }, () => undefined)
  onceSignalled(async () => {
    await server.close()
    await health.close()
    await simnet.close()
    await end()
  })
}
