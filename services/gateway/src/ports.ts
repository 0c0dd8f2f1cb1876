import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Peers } from '@penstock/ports/lightning.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Basics } from '@penstock/runtime/basics.ts'
import type { Pepper } from '@penstock/runtime/credentials.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { Commands } from './commands/commands.ts'
import type { Waits } from './commands/waits.ts'
import type { NodeBook } from './read/node-book.ts'

export type GatewayPorts = {
  readonly views: Views
  readonly records: Records
  /** Where nodes are and what they call themselves, by gossip. */
  readonly peers: Pick<Peers, 'addresses'>
  /** Which hosts a buyer may name for a connection of our node; null where any, as on networks for tests. */
  readonly hostGuard: HostGuard | null
  /** What `/readyz` asks: undefined when the process can serve, else what it waits for. */
  readonly readiness: () => Promise<string | undefined>
}

/** All that an operation needs, whichever door it came through: GraphQL, REST or a page. */
export type Gateway = GatewayPorts &
  Basics & {
    readonly pepper: Pepper
    readonly commands: Commands
    readonly waits: Waits
    readonly nodes: NodeBook
    readonly send: ServiceContext<object>['send']
    /** Aborted when the service stops: whoever keeps a connection open lets go of it. */
    readonly closing: AbortSignal
    /** The address that links use, without a slash at its end. It is known once the server listens. */
    readonly baseUrl: () => string
  }
