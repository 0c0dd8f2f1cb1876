import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import type { Config } from './config.ts'
import type { Gauges } from './gauges.ts'
import type { Log } from './log.ts'
import type { Tracing } from './tracing.ts'

/** What every service has at hand, whatever else it needs. */
export type Basics = {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  readonly config: Config
  readonly log: Log
  /** Where somebody collects traces. */
  readonly tracing?: Tracing
  /** Where somebody asks for metrics. */
  readonly gauges?: Gauges
}
