import type { Bus } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Timers } from '@penstock/ports/timers.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { BasePorts } from './base-ports.ts'

/** The ports that the runtime itself uses. A service gets its own ports in addition. */
export type Platform = BasePorts & {
  readonly store: EventStore
  readonly bus: Bus
  readonly views: Views
  readonly timers: Timers
  readonly progress: ConsumerProgress
  readonly leases: Leases
  /** The name of this process as a holder of leases, among the processes that share the stores. */
  readonly instance: string
}
