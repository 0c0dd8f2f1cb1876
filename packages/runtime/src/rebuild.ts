import { Bug } from '@penstock/kernel/result.ts'
import type { Beside } from '@penstock/ports/beside.ts'
import { categoryOf, type EventStore } from '@penstock/ports/event-store.ts'
import { byOwner } from './consume.ts'
import { eventOf } from './event-codec.ts'
import { projectionName, projector } from './project.ts'
import type { Projection } from './service.ts'

export type Rebuilt = { readonly projection: string; readonly facts: number }

const PAGE = 500

/**
 * Makes projections anew from the facts, beside those that are in use, and puts them in their place when they are as far.
 * Nothing stops meanwhile: who projects goes on, and is held up for the moment of the exchange.
 */
export async function rebuild(
  service: string,
  projections: readonly Projection[],
  store: EventStore,
  beside: Beside,
): Promise<readonly Rebuilt[]> {
  try {
    const makers = projections.map((projection) => maker(service, projection, store, beside))
    for (const { projection } of makers) await projection.migrate(beside.views)
    const counts = makers.map(() => 0)
    const catchUp = async (): Promise<void> => {
      for (const [index, one] of makers.entries()) counts[index] = (counts[index] ?? 0) + (await one.catchUp())
    }
    await catchUp()
    const exchanged = {
      tables: projections.flatMap(({ tables = [] }) => tables),
      consumers: makers.map(({ name }) => name),
      positions: makers.flatMap(({ positions }) => positions),
    }
    await beside.exchange(exchanged, catchUp)
    return makers.map(({ projection }, index) => ({ projection: projection.name, facts: counts[index] ?? 0 }))
  } finally {
    await beside.drop()
  }
}

/** @returns what reads the facts of a projection, from where it is to where the log ends */
function maker(service: string, projection: Projection, store: EventStore, { views, progress }: Beside) {
  // Nobody waits for what happened long ago.
  const silent = { ...projection, committed: () => undefined }
  const context = { service, views, progress }
  const name = projectionName(context, projection)
  const positions = [...byOwner(projection.from).keys()].map((owner) => `${name}@${owner}`)
  const apply = projector(context, silent, 'all owners', projection.from).apply
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
          if (!contract) throw new Bug(`${stored.stream} was not asked for`)
          return apply(eventOf(contract, stored))
        }),
      )
      after = last.position
      for (const key of positions) await progress.settle(key, after)
      facts += page.length
    }
  }
  return { projection, name, positions, catchUp }
}
