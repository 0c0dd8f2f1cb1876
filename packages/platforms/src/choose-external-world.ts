import type { Config } from '@penstock/config/config.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { type ExternalWorld, openSimulatedWorld } from './external-world.ts'
import type { LndClient } from './lnd-access.ts'

type OpenExternalWorld = (client: LndClient, dir: DataDir, clock: Clock) => ExternalWorld

/** Loads the configured external world. lnd's client is a quarter of all modules, so it is imported only for lnd. */
export async function chooseExternalWorld(config: Config): Promise<OpenExternalWorld> {
  if (config.lightning !== 'lnd') return (_client, dir, clock) => openSimulatedWorld(dir, config, clock)
  const { openLndWorld } = await import('./external-world-lnd.ts')
  return (client, dir, clock) => openLndWorld(client, dir, config, clock)
}
