import type { OpenShadowTables } from '@penstock/ports/shadow-tables.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Config } from '@penstock/config/config.ts'
import { openPepper } from '@penstock/credentials/pepper.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { rebuildProjections } from '@penstock/runtime/views/rebuild.ts'
import { bind, type BoundService } from '@penstock/runtime/run.ts'
import type { Mount } from './http/app.ts'
import { createLsps1Mount } from './lsps1/routes.ts'
import type { OperatorAudit } from './operator/audit-routes.ts'
import { createOperatorMount } from './operator/mount.ts'
import type { SimulatedNetworkControl } from './operator/simulation.ts'
import { hashOrderPage } from './pages/page-url.ts'
import { mountPageRoutes } from './pages/routes.ts'
import type { Gateway, GatewayPorts } from './ports.ts'
import { createGatewayService } from './service.ts'
import { createGatewayProjections } from './projections.ts'

export type PublicGatewayOptions = {
  readonly platform: Platform & {
    readonly records: Records
    readonly deliveries: DeliveryLog
    readonly openShadowTables: OpenShadowTables
  }
  readonly config: Config
  readonly lightning: Pick<Lightning, 'peers'>
  readonly hostGuard: GatewayPorts['hostGuard']
  readonly webhookGuard: GatewayPorts['webhookGuard']
  readonly sealer: GatewayPorts['sealer']
  readonly chain: Chain
  /** Null on a real network. */
  readonly simulation: SimulatedNetworkControl | null
  readonly audit: OperatorAudit
  readonly token: string
  readonly readiness: GatewayPorts['readiness']
  /** By default there is always space, because a cluster keeps its data on the disks of its servers. */
  readonly hasSpaceForOrders?: GatewayPorts['hasSpaceForOrders']
  /** Called once the gateway can send commands. */
  readonly onOpened?: (gateway: Gateway) => void
  /** Called with the gateway's local URL once the gateway listens. */
  readonly onListening?: (url: string) => void
}

/** Composes the public gateway with its ports: GraphQL, LSPS1, pages, and the operators' routes. */
export async function composePublicGateway(options: PublicGatewayOptions): Promise<BoundService> {
  const { platform, config, lightning, hostGuard, webhookGuard, sealer, chain, simulation, audit, token } = options
  const { readiness, hasSpaceForOrders = () => true, onOpened, onListening } = options
  const pepper = await openPepper(config.dataDir)
  const notifyOpened: Mount = (_, openedGateway) => onOpened?.(openedGateway)
  const rebuildViews = async (names: readonly string[]) => {
    const all = createGatewayProjections({ notifyCommitted: () => undefined }, (id) => hashOrderPage(pepper, id))
    const chosen = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
    return rebuildProjections('gateway', chosen, platform.store, await platform.openShadowTables())
  }
  const mountOperatorRoutes = createOperatorMount({ token, bus: platform.bus, audit, simulation, rebuildViews })
  const mountLsps1Routes = createLsps1Mount({ peers: lightning.peers, chain })
  const service = createGatewayService({
    pepper,
    mounts: [notifyOpened, mountOperatorRoutes, mountLsps1Routes, mountPageRoutes],
    ...(onListening && { onListening }),
  })
  const { views, records, deliveries: deliveryLog } = platform
  const { peers } = lightning
  return bind(service, { views, records, deliveryLog, sealer, peers, hostGuard, webhookGuard, readiness, hasSpaceForOrders })
}
