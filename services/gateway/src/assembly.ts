import type { OpenBeside } from '@penstock/ports/beside.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { openPepper } from '@penstock/runtime/pepper.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { rebuild } from '@penstock/runtime/rebuild.ts'
import { bind, type Bound } from '@penstock/runtime/run.ts'
import type { Mount } from './http.ts'
import { lsps1Routes } from './lsps1/routes.ts'
import type { OperatorAudit } from './operator/audit-routes.ts'
import { operatorMount } from './operator/mount.ts'
import type { Simulation } from './operator/simulation.ts'
import { pageHashOfOrder } from './pages/address.ts'
import { pageRoutes } from './pages/routes.ts'
import type { Gateway, GatewayPorts } from './ports.ts'
import { gateway } from './service.ts'
import { gatewayProjections } from './views/projections.ts'

export type Door = {
  readonly platform: Platform & { readonly records: Records; readonly beside: OpenBeside }
  readonly config: Config
  readonly lightning: Pick<Lightning, 'peers'>
  readonly hostGuard: GatewayPorts['hostGuard']
  readonly chain: Chain
  /** Null on a real network. */
  readonly simulation: Simulation | null
  readonly audit: OperatorAudit
  readonly token: string
  readonly readiness: GatewayPorts['readiness']
  /** Told once commands can be sent. */
  readonly opened?: (gateway: Gateway) => void
  /** Told the address once it listens. */
  readonly listening?: (url: string) => void
}

/** The whole public door, with its ports: GraphQL, LSPS1, pages, and the operators' routes. */
export async function door(parts: Door): Promise<Bound> {
  const { platform, config, lightning, hostGuard, chain, simulation, audit, token, readiness, opened, listening } = parts
  const pepper = await openPepper(config.dataDir)
  const open: Mount = (_, opening) => opened?.(opening)
  const rebuildViews = async (names: readonly string[]) => {
    const all = gatewayProjections({ committed: () => undefined }, (id) => pageHashOfOrder(pepper, id))
    const chosen = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
    return rebuild('gateway', chosen, platform.store, await platform.beside())
  }
  const operators = operatorMount({ token, bus: platform.bus, audit, simulation, rebuildViews })
  const lsps1 = lsps1Routes({ peers: lightning.peers, chain })
  const service = gateway({ pepper, mounts: [open, operators, lsps1, pageRoutes], ...(listening && { listening }) })
  const { views, records } = platform
  return bind(service, { views, records, peers: lightning.peers, hostGuard, pepper, readiness })
}
