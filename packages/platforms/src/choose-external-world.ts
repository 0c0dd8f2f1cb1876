import type { Config } from '@penstock/config/config.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { type ExternalWorld, openSimulatedWorld } from './external-world.ts'

/** @param process the name of the process, which determines the permissions of its macaroon */
type OpenExternalWorld = (process: string, dir: DataDir, clock: Clock) => ExternalWorld

/** Loads the configured external world. lnd's client is a quarter of all modules, so it is imported only for lnd. */
export async function chooseExternalWorld(config: Config): Promise<OpenExternalWorld> {
  if (config.lightning !== 'lnd') return (_process, dir, clock) => openSimulatedWorld(dir, config, clock)
  const { openLndWorld } = await import('./external-world-lnd.ts')
  return (process, dir, clock) => openLndWorld(process, dir, config, clock)
}
