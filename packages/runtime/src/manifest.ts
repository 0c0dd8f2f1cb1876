import type { Chain } from '@penstock/ports/chain.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Graph, Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
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

/** The opened external ports, with the height of the chain tip: undefined before the first tip arrives. */
export type OpenedPorts = Omit<ExternalPorts, 'graph'> & { readonly height: () => number | undefined }

/** The metric by which an operator scales a service: its waiting commands, its use of the processor, or none. */
export type Scaling = { readonly by: 'lag' | 'cpu' | 'none'; readonly reason: string }

/** The facts about a service from which every deployment is made. */
export type ServiceManifest = {
  /** Also the name of the service's folder, its role at the database and its user at the brokers. */
  readonly name: string
  readonly needs: readonly ExternalPort[]
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
}

/** The manifest of a service that owns streams. Its value and its contracts say what it owns, follows and commands. */
export type StreamServiceManifest = ServiceManifest & { readonly create: () => Service<never> }

type Definition<Name extends string, Needs extends ExternalPort> = Omit<ServiceManifest, 'name' | 'needs'> & {
  readonly name: Name
  readonly needs: readonly Needs[]
  readonly create: () => Service<Pick<ExternalPorts, Needs>>
}

/** Defines a manifest whose `needs` contain all external ports that the service's value takes. */
export const defineManifest = <const Name extends string, const Needs extends ExternalPort = never>(
  definition: Definition<Name, Needs>,
): StreamServiceManifest & { readonly name: Name } => definition

/** @param open returns the external ports; it is called only if the service needs one */
export function bindManifest({ create, needs }: StreamServiceManifest, open: () => OpenedPorts): BoundService {
  if (needs.length === 0) return bind(create() as Service, {}) // A service without needs takes no ports.
  const opened = open()
  const ports = Object.fromEntries(needs.map((need) => [need, need === 'graph' ? opened.lightning.graph : opened[need]]))
  return bind(create(), ports as never, opened.height) // The manifest's definition ties the ports to the needs.
}
