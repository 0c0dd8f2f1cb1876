import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { type DataDir, openDataDir } from './data-dir.ts'
import type { Outside } from './outside.ts'
import { outsideOf } from './outside-lnd.ts'

/** What those have who live beside a market and use its public interface only: sellers' agents, demonstrations. */
export type Neighbourhood = {
  readonly dir: DataDir
  readonly outside: Outside
  readonly clock: Clock
  readonly ids: Ids
}

export function neighbourhood(config: Config): Neighbourhood {
  const dir = openDataDir(config.dataDir)
  return { dir, outside: outsideOf('neighbours', dir, config, systemClock), clock: systemClock, ids: systemIds() }
}
