import { createGatewayProjections } from '@penstock/gateway/views/projections.ts'
import type { ServerRights } from '@penstock/platforms/cluster.ts'
import { groupByOwner } from '@penstock/runtime/consumers/consume.ts'
import { findCommandedServices } from '@penstock/contracts/owners.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { createAuditedServices } from '@penstock/standalone/audited-services.ts'

/** The rights of each process to facts, tables and messages, as its service declares them. */
export function listProcessPermissions(): readonly ServerRights[] {
  const services = createAuditedServices()
  const noPermissions = {
    mayAppend: false,
    ownedTablePrefixes: [],
    ownedTables: [],
    readableTables: [],
    follows: [],
    commands: [],
    isOperator: false,
  }
  const projected = createGatewayProjections({ notifyCommitted: () => undefined }, String).flatMap(({ from }) => from)
  return [
    ...services.map((service) => ({
      ...noPermissions,
      service: service.name,
      mayAppend: true,
      readableLogs: [
        ...new Set([
          service.name,
          ...listFollowedServices(service),
          ...listOwners(service.memoryViews.flatMap(({ from }) => from)),
        ]),
      ],
      follows: listFollowedServices(service),
      commands: findCommandedServices(service.name),
      // `last_seen` has the last times of a seller's attestation and of a request for a channel. Quote reads the table too.
      ownedTables: service.name === 'matching' ? ['last_seen'] : [],
      readableTables: service.name === 'quote' ? ['last_seen'] : [],
    })),
    {
      service: 'gateway',
      mayAppend: false,
      readableLogs: listOwners(projected),
      follows: listOwners(projected),
      commands: findCommandedServices('gateway'),
      ownedTablePrefixes: ['gateway_'],
      ownedTables: ['limit_hits', 'records'],
      readableTables: [],
      isOperator: true,
    },
    { ...noPermissions, service: 'audit', readableLogs: services.map(({ name }) => name) },
  ]
}

/** The services whose messages a service consumes from the bus. In-memory views read the logs instead. */
const listFollowedServices = ({ reactions, projections }: Service<never>): readonly string[] =>
  listOwners([...reactions.map(({ contract }) => contract), ...projections.flatMap(({ from }) => from)])

const listOwners = (contracts: Parameters<typeof groupByOwner>[0]): readonly string[] => [...groupByOwner(contracts).keys()]
