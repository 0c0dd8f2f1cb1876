import { Bug } from '@penstock/kernel/result.ts'
import type { ShadowTables } from '@penstock/ports/shadow-tables.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { groupByOwner } from '../consumers/consume.ts'
import { readEvent } from '../commands/event-codec.ts'
import { createProjector } from './project.ts'
import { projectionName } from './projection-transactions.ts'
import type { Projection } from '../service.ts'

export type RebuiltProjection = { readonly projection: string; readonly facts: number }

const PAGE = 500

/**
 * Rebuilds projections from the facts in shadow tables, and swaps them in when they have caught up. The service continues
 * meanwhile, and its projectors wait only during the swap.
 */
export async function rebuildProjections(
  service: string,
  projections: readonly Projection[],
  store: EventStore,
  shadow: ShadowTables,
): Promise<readonly RebuiltProjection[]> {
  try {
    const rebuilders = projections.map((projection) => createRebuilder(service, projection, store, shadow))
    for (const { projection } of rebuilders) await projection.migrate(shadow.views)
    const counts = rebuilders.map(() => 0)
    const catchUp = async (): Promise<void> => {
      for (const [index, rebuilder] of rebuilders.entries()) counts[index] = (counts[index] ?? 0) + (await rebuilder.catchUp())
    }
    await catchUp()
    const swapped = {
      tables: projections.flatMap(({ tables = [] }) => tables),
      consumers: rebuilders.map(({ name }) => name),
      positions: rebuilders.flatMap(({ positions }) => positions),
    }
    await shadow.swap(swapped, catchUp)
    return rebuilders.map(({ projection }, index) => ({ projection: projection.name, facts: counts[index] ?? 0 }))
  } finally {
    await shadow.drop()
  }
}

/** @returns a rebuilder, whose `catchUp` applies a projection's facts from its position to the end of the log */
function createRebuilder(service: string, projection: Projection, store: EventStore, { views, progress }: ShadowTables) {
  // No reader waits for old events.
  const quietProjection = { ...projection, onCommitted: () => undefined }
  const context = { service, views, progress }
  const name = projectionName(context, projection)
  const positions = [...groupByOwner(projection.from).keys()].map((owner) => `${name}@${owner}`)
  const apply = createProjector(context, quietProjection, 'all owners', projection.from).apply
  const contractOf = new Map(projection.from.map((contract) => [contract.category, contract]))
  let after: bigint | 'start' = 'start'

  async function catchUp(): Promise<number> {
    for (let facts = 0; ;) {
      const page = await store.readAll(after, PAGE, [...contractOf.keys()])
      const last = page.at(-1)
      if (!last) return facts
      await Promise.all(
        page.map((stored) => {
          const contract = contractOf.get(categoryOf(stored.stream))
          if (!contract) throw new Bug(`the store returned ${stored.stream}, which was not requested`)
          return apply(readEvent(contract, stored))
        }),
      )
      after = last.position
      for (const key of positions) await progress.saveCheckpoint(key, after)
      facts += page.length
    }
  }
  return { projection, name, positions, catchUp }
}
