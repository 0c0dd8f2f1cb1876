import type { Bus } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Timers } from '@penstock/ports/timers.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Basics } from './basics.ts'

/** The ports that the runtime itself works with; what a service needs beyond them it is given beside them. */
export type Platform = Basics & {
  readonly store: EventStore
  readonly bus: Bus
  readonly views: Views
  readonly timers: Timers
  readonly progress: Progress
  readonly leases: Leases
  /** This process among those that share the stores: its name when it holds a lease. */
  readonly instance: string
}
