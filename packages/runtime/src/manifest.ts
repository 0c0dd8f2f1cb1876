import type { Chain } from '@penstock/ports/chain.ts'
import type { Deliveries } from '@penstock/ports/deliveries.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Graph, Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import type { PostWebhook } from '@penstock/ports/post-webhook.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Opener, Sealer } from '@penstock/ports/vault.ts'
import { bind, type BoundService } from './run.ts'
import type { Service } from './service.ts'

/** The ports outside of the market's own servers that a service may need. */
export type ExternalPorts = {
  readonly lightning: Lightning
  readonly graph: Graph
  readonly chain: Chain
  /** The sources of the dollar rate, which are reached over the internet. */
  readonly rates: readonly RateSource[]
  /** The keys that settle payments. */
  readonly keyring: Keyring
  readonly network: NodeInfo['network']
}

export type ExternalPort = keyof ExternalPorts

/** The ports on the market's own servers, files and connections that a service may need beside those of the runtime. */
export type OwnPorts = {
  /** The log of facts. A service reads only its own. */
  readonly facts: Pick<EventStore, 'read' | 'follow'>
  readonly records: Pick<Records, 'get'>
  readonly deliveries: Deliveries
  /** Opens sealed secrets. */
  readonly opener: Opener
  /** Seals secrets that only an opener reads. */
  readonly sealer: Sealer
  /** Calls the webhook endpoints of teams, over the internet. */
  readonly postWebhook: PostWebhook
}

type OwnPort = keyof OwnPorts
export type ServicePort = ExternalPort | OwnPort

/** The opened external ports, with the height of the chain tip: undefined before the first tip arrives. */
export type OpenedPorts = Omit<ExternalPorts, 'graph'> & { readonly height: () => number | undefined }

/** Functions that open ports. Each is called only for a service that needs its port. */
export type PortOpeners = { readonly externalWorld: () => OpenedPorts } & {
  readonly [Port in OwnPort]: () => OwnPorts[Port]
}

const ownPorts: Readonly<Record<OwnPort, true>> = {
  facts: true,
  records: true,
  deliveries: true,
  opener: true,
  sealer: true,
  postWebhook: true,
}
const isOwnPort = (port: ServicePort): port is OwnPort => port in ownPorts

/** @returns whether a service needs a port around the Lightning network */
export const needsExternalWorld = ({ needs }: Pick<ServiceManifest, 'needs'>): boolean => !needs.every(isOwnPort)

/** The metric by which an operator scales a service: its waiting commands, its use of the processor, or none. */
export type Scaling = { readonly by: 'lag' | 'cpu' | 'none'; readonly reason: string }

/** The facts about a service from which every deployment is made. */
export type ServiceManifest = {
  /** Also the name of the service's folder, its role at the database and its user at the brokers. */
  readonly name: string
  readonly needs: readonly ServicePort[]
  /** The role of the service at lnd; `reader` if omitted. */
  readonly macaroon?: MacaroonRole
  readonly scaling: Scaling
  /** Marks the public service, which also serves operators and sends their commands. */
  readonly isPublic?: boolean
  /** Tables that are neither read models nor tables of the runtime. */
  readonly tables?: {
    readonly owns?: readonly string[]
    readonly ownsPrefixes?: readonly string[]
    readonly reads?: readonly string[]
  }
  /**
   * Services whose facts only the previous release of this service follows. Its processes need the rights during a rollout and
   * after a rollback.
   */
  readonly followedBefore?: readonly string[]
}

/** The manifest of a service that owns streams. Its value and its contracts say what it owns, follows and commands. */
export type StreamServiceManifest = ServiceManifest & { readonly create: () => Service<never> }

type Definition<Name extends string, Needs extends ServicePort> = Omit<ServiceManifest, 'name' | 'needs'> & {
  readonly name: Name
  readonly needs: readonly Needs[]
  readonly create: () => Service<Pick<ExternalPorts & OwnPorts, Needs>>
}

/** Defines a manifest whose `needs` contain all ports that the service's value takes. */
export const defineManifest = <const Name extends string, const Needs extends ServicePort = never>(
  definition: Definition<Name, Needs>,
): StreamServiceManifest & { readonly name: Name } => definition

/** Binds a service to the ports that it needs. */
export function bindManifest({ create, needs }: StreamServiceManifest, openers: PortOpeners): BoundService {
  if (needs.length === 0) return bind(create() as Service, {}) // A service without needs takes no ports.
  const world = needsExternalWorld({ needs }) ? openers.externalWorld() : undefined
  const openPort = (need: ServicePort): unknown => {
    if (isOwnPort(need)) return openers[need]()
    return need === 'graph' ? world?.lightning.graph : world?.[need]
  }
  const ports = Object.fromEntries(needs.map((need) => [need, openPort(need)]))
  return bind(create(), ports as never, world?.height) // The manifest's definition ties the ports to the needs.
}
