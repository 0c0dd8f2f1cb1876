import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import type { Part } from '@penstock/platforms/cluster.ts'
import { byOwner } from '@penstock/runtime/consume.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'

/** Services that others command. All command their own streams. */
const COMMANDED: Readonly<Record<string, readonly string[]>> = {
  quote: ['order'],
  order: ['matching', 'channel-watcher', 'settlement'],
  gateway: ['accounts', 'quote', 'matching', 'order', 'settlement'],
}

/** What each process may do with facts, tables and messages, by what its service declares. */
export function parts(): readonly Part[] {
  const services = audited()
  const nothing = { appends: false, prefixes: [], owns: [], looksAt: [], follows: [], commands: [], operates: false }
  const projected = gatewayProjections({ committed: () => undefined }, String).flatMap(({ from }) => from)
  return [
    ...services.map((service) => ({
      ...nothing,
      service: service.name,
      appends: true,
      reads: [...new Set([service.name, ...followedBy(service), ...ownersOf(service.memory.flatMap(({ from }) => from))])],
      follows: followedBy(service),
      commands: COMMANDED[service.name] ?? [],
      // When a seller's agent was last heard of, and who was asked for a channel: private orders are quoted by that too.
      owns: service.name === 'matching' ? ['last_seen'] : [],
      looksAt: service.name === 'quote' ? ['last_seen'] : [],
    })),
    {
      service: 'gateway',
      appends: false,
      reads: ownersOf(projected),
      follows: ownersOf(projected),
      commands: COMMANDED['gateway'] ?? [],
      prefixes: ['gateway_'],
      owns: ['limit_hits', 'records'],
      looksAt: [],
      operates: true,
    },
    { ...nothing, service: 'audit', reads: services.map(({ name }) => name) },
  ]
}

/** Services whose messages it takes: what it keeps in memory comes from their logs. */
const followedBy = ({ reactions, projections }: Service<never>): readonly string[] =>
  ownersOf([...reactions.map(({ contract }) => contract), ...projections.flatMap(({ from }) => from)])

const ownersOf = (contracts: Parameters<typeof byOwner>[0]): readonly string[] => [...byOwner(contracts).keys()]
