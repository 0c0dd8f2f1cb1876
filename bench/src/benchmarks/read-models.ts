import { createGatewayProjections } from '@penstock/gateway/projections.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { groupByOwner } from '@penstock/runtime/consumers/consume.ts'
import type { Consumer } from '@penstock/runtime/consumers/consumer.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'
import { createProjector } from '@penstock/runtime/views/project.ts'

const PAGE = 2000

/** Fills the gateway's read models with the rows of a whole store. @returns the keys of their checkpoints */
export async function fillReadModels(
  store: Pick<EventStore, 'readAll'>,
  views: Views,
  progress: ConsumerProgress,
): Promise<readonly string[]> {
  const keys: string[] = []
  for (const projection of createGatewayProjections({ notifyCommitted: () => undefined }, (id) => id)) {
    await projection.migrate(views)
    for (const [owner, contracts] of groupByOwner(projection.from)) {
      const consumer = createProjector({ service: 'gateway', views, progress }, projection, owner, contracts)
      await applyStore(store, consumer)
      keys.push(`${consumer.name}@${owner}`)
    }
  }
  return keys
}

/** Applies streams concurrently, and the facts of one stream in order. */
async function applyStore(store: Pick<EventStore, 'readAll'>, consumer: Consumer): Promise<void> {
  const contracts = new Map(consumer.contracts.map((contract) => [contract.category, contract]))
  for (let after: bigint | 'start' = 'start'; ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE, [...contracts.keys()])
    const last = page.at(-1)
    if (!last) return
    const applyInOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        const contract = contracts.get(categoryOf(stored.stream))
        if (contract) await consumer.apply(readEvent(contract, stored))
      }
    }
    await Promise.all([...Map.groupBy(page, ({ stream }) => stream).values()].map(applyInOrder))
    after = last.position
  }
}
