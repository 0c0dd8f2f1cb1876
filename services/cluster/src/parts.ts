import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import type { Part } from '@penstock/platforms/cluster.ts'
import { byOwner } from '@penstock/runtime/consume.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'

/** What each process may do with facts and tables, by what its service declares. */
export function parts(): readonly Part[] {
  const services = audited()
  const nothing = { appends: false, prefixes: [], owns: [], looksAt: [], operates: false }
  const projected = gatewayProjections({ committed: () => undefined }, String).flatMap(({ from }) => from)
  return [
    ...services.map((service) => ({
      ...nothing,
      service: service.name,
      appends: true,
      reads: logsOf(service),
      // When a seller's agent was last heard of, and who was asked for a channel: private orders are quoted by that too.
      owns: service.name === 'matching' ? ['last_seen'] : [],
      looksAt: service.name === 'quote' ? ['last_seen'] : [],
    })),
    {
      service: 'gateway',
      appends: false,
      reads: [...byOwner(projected).keys()],
      prefixes: ['gateway_'],
      owns: ['limit_hits', 'records'],
      looksAt: [],
      operates: true,
    },
    { ...nothing, service: 'audit', reads: services.map(({ name }) => name) },
  ]
}

/** Its own log, and those whose facts it reacts to, projects or keeps in memory. */
function logsOf({ name, reactions, projections, memory }: Service<never>): readonly string[] {
  const followed = [
    ...reactions.map(({ contract }) => contract),
    ...projections.flatMap(({ from }) => from),
    ...memory.flatMap(({ from }) => from),
  ]
  return [...new Set([name, ...byOwner(followed).keys()])]
}
