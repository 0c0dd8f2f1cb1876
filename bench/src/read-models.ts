import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { categoryOf } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { byOwner } from '@penstock/runtime/consume.ts'
import type { Consumer } from '@penstock/runtime/consumer.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import { projector } from '@penstock/runtime/project.ts'

const PAGE = 2000

/** Fills the gateway's read models with the rows of a whole store. @returns under which keys their positions are kept */
export async function fillReadModels(
  store: Pick<EventStore, 'readAll'>,
  views: Views,
  progress: Progress,
): Promise<readonly string[]> {
  const keys: string[] = []
  for (const projection of gatewayProjections({ committed: () => undefined }, (id) => id)) {
    await projection.migrate(views)
    for (const [owner, contracts] of byOwner(projection.from)) {
      const consumer = projector({ service: 'gateway', views, progress }, projection, owner, contracts)
      await applyAll(store, consumer)
      keys.push(`${consumer.name}@${owner}`)
    }
  }
  return keys
}

/** Streams side by side, in order within each. */
async function applyAll(store: Pick<EventStore, 'readAll'>, consumer: Consumer): Promise<void> {
  const contracts = new Map(consumer.contracts.map((contract) => [contract.category, contract]))
  for (let after: bigint | 'start' = 'start'; ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE, [...contracts.keys()])
    const last = page.at(-1)
    if (!last) return
    const inOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        const contract = contracts.get(categoryOf(stored.stream))
        if (contract) await consumer.apply(eventOf(contract, stored))
      }
    }
    await Promise.all([...Map.groupBy(page, ({ stream }) => stream).values()].map(inOrder))
    after = last.position
  }
}
