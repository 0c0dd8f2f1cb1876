import type { GaugeReader } from '@penstock/runtime/observability/gauges.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { readFileSync } from 'node:fs'
import type { RequestCallers } from './access.ts'
import type { MigrationHistory } from './create-table.ts'
import type { Gateway } from './ports.ts'
import type { UseCase } from './use-case.ts'

export type ProjectionTools = {
  /** Returns the hash by which the pages of an order are found. */
  readonly pageHashOf: (orderId: string) => string
}

/** Applies facts to the rows of an area. A new meaning or shape of rows needs a new version with tables of its own. */
export type AreaProjection = Required<Pick<Projection, 'name' | 'version' | 'from' | 'tables'>> & {
  readonly apply: (trx: Transaction<object>, events: readonly Event[], tools: ProjectionTools) => Promise<void>
}

/**
 * Applies the facts of a transaction one after the other, for areas whose facts are rare. All transactions apply streams in the
 * order of their ids, so that two transactions seldom wait for each other.
 */
export const applyEach =
  (applyOne: (trx: Transaction<object>, event: Event) => Promise<void>): AreaProjection['apply'] =>
  async (trx, events) => {
    for (const event of events.toSorted(byAggregateId)) await applyOne(trx, event)
  }

const byAggregateId = (a: Event, b: Event): number => (a.aggregateId < b.aggregateId ? -1 : Number(a.aggregateId > b.aggregateId))

export type PrunePorts = Pick<Gateway, 'views' | 'records' | 'clock' | 'ids' | 'send' | 'log'>

/** A part of the gateway with its own subject. Schema, resolvers, limits, projections and migrations come from all areas. */
export type Area = {
  /** Texts in GraphQL's schema definition language. */
  readonly sdl?: readonly string[]
  readonly useCases?: readonly UseCase[]
  /** The ids of namespaces that depend on the caller, by path. The id of every other namespace is its path. */
  readonly namespaceIds?: Readonly<Record<string, (callers: RequestCallers) => string>>
  readonly projections?: readonly AreaProjection[]
  readonly migrations?: readonly MigrationHistory[]
  /** Deletes rows and texts that are no longer needed. It runs at the start and then every hour. */
  readonly prune?: (ports: PrunePorts) => Promise<void>
  readonly createGaugeReader?: (ports: Pick<Gateway, 'views' | 'clock'>) => GaugeReader
}

/** Reads a schema file beside the caller. @param caller the `import.meta.url` of the caller */
export const readSdl = (name: string, caller: string): string => readFileSync(new URL(name, caller), 'utf8')
