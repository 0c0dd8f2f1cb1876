import { createGatewayProjections } from '@penstock/gateway/projections.ts'
import type { ServerRights } from '@penstock/platforms/cluster.ts'
import { groupByOwner } from '@penstock/runtime/consumers/consume.ts'
import { findCommandedServices } from '@penstock/contracts/owners.ts'
import { listFollowedContracts, type Service } from '@penstock/runtime/service.ts'
import type { ServiceManifest } from '@penstock/runtime/manifest.ts'
import { gatewayManifest } from '@penstock/gateway/manifest.ts'
import { AUDIT_NAME, streamServices } from '@penstock/standalone/registry.ts'

/** The rights of each process to facts, tables and messages, as its service declares them. */
export function listProcessPermissions(): readonly ServerRights[] {
  const projected = createGatewayProjections({ notifyCommitted: () => undefined }, String).flatMap(({ from }) => from)
  return [
    ...streamServices.map((manifest) => {
      const service = manifest.create()
      const follows = [...new Set([...listFollowedServices(service), ...(manifest.followedBefore ?? [])])]
      const inMemory = listOwners(service.memoryViews.flatMap(({ from }) => from))
      return {
        ...listPermissions(manifest),
        mayAppend: true,
        readableLogs: [...new Set([service.name, ...follows, ...inMemory])],
        follows,
      }
    }),
    { ...listPermissions(gatewayManifest), readableLogs: listOwners(projected), follows: listOwners(projected) },
    { ...listPermissions({ name: AUDIT_NAME }), readableLogs: streamServices.map(({ name }) => name) },
  ]
}

const listPermissions = ({ name, tables = {}, isPublic = false }: Pick<ServiceManifest, 'name' | 'tables' | 'isPublic'>) => ({
  service: name,
  mayAppend: false,
  commands: findCommandedServices(name),
  follows: [],
  ownedTablePrefixes: tables.ownsPrefixes ?? [],
  ownedTables: tables.owns ?? [],
  readableTables: tables.reads ?? [],
  isOperator: isPublic,
})

/** The services whose messages a service consumes from the bus. In-memory views read the logs instead. */
const listFollowedServices = ({ aggregates, reactions, projections }: Service<never>): readonly string[] =>
  listOwners([...listFollowedContracts({ aggregates, reactions }), ...projections.flatMap(({ from }) => from)])

const listOwners = (contracts: Parameters<typeof groupByOwner>[0]): readonly string[] => [...groupByOwner(contracts).keys()]
