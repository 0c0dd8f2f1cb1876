import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import type { Config } from '@penstock/config/config.ts'
import type { Gauges } from './observability/gauges.ts'
import type { Logger } from './observability/log.ts'
import type { Tracing } from './observability/tracing.ts'

/** The ports of every service, in addition to its own. */
export type BasePorts = {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  readonly config: Config
  readonly log: Logger
  /** Present if traces are collected. */
  readonly tracing?: Tracing
  /** Present if the process serves metrics. */
  readonly gauges?: Gauges
}
