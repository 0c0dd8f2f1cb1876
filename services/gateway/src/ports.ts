import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Peers } from '@penstock/ports/lightning.ts'
import type { DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Sealer } from '@penstock/ports/vault.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { Pepper } from '@penstock/credentials/credentials.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { Commands } from './commands/commands.ts'
import type { ReadModelWaiters } from './commands/read-model-waiters.ts'
import type { AdmissionControl } from '@penstock/runtime/commands/adaptive-limit.ts'
import type { NodeDirectory } from './node-directory.ts'

export type GatewayPorts = {
  readonly views: Views
  readonly records: Records
  readonly deliveryLog: DeliveryLog
  /** Addresses and aliases of nodes, from gossip. */
  readonly peers: Pick<Peers, 'addresses'>
  /** Checks the host of a buyer's node before our node connects to it; null allows any host, as on test networks. */
  readonly hostGuard: HostGuard | null
  /** Checks the host of a webhook. It is in force on every network. */
  readonly webhookGuard: HostGuard
  /** Seals the secrets that another service reads. */
  readonly sealer: Sealer
  /** The check of `/readyz`. @returns undefined if the process can serve, else the dependency that it waits for */
  readonly readiness: () => Promise<string | undefined>
  /** Whether the disk has space for new orders. The rest is reserved for orders that are paid. */
  readonly hasSpaceForOrders: () => boolean
}

/** The dependencies of an operation, which GraphQL, REST or a page calls. */
export type Gateway = GatewayPorts &
  BasePorts & {
    readonly pepper: Pepper
    readonly commands: Commands
    readonly waiters: ReadModelWaiters
    readonly lookUpNode: NodeDirectory
    /** Limits the number of purchases that wait for their orders. */
    readonly admission: AdmissionControl
    readonly send: ServiceContext<object>['send']
    /** Aborted when the service stops; open connections must then end. */
    readonly closing: AbortSignal
    /** The base URL of links, without a trailing slash. It is available once the server listens. */
    readonly baseUrl: () => string
  }
