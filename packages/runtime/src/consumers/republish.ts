import type { Bus, BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { Logger } from '../observability/log.ts'
import { eventTopic, factToBus, republishTopic } from '../commands/messages.ts'

/**
 * Publishes facts again that did not arrive. On a bus that may lose messages, this function requests them from the owner.
 * Only the owner may write to its topic, so that no compromised process can publish forged facts. A bus that loses no
 * messages is inside one process.
 */
export async function republishFacts(bus: Bus, owner: string, events: readonly StoredEvent[]): Promise<void> {
  if (bus.mayLose) await bus.publish(republishTopic(owner), events.map(toRepublishRequest))
  else await bus.publish(eventTopic(owner), events.map(factToBus))
}

const KIND = 'republish'

const toRepublishRequest = ({ id, stream, revision }: StoredEvent): BusMessage => ({
  id,
  key: aggregateIdOf(stream),
  headers: { kind: KIND, stream, revision: `${revision}` },
  body: '{}',
})

export type FactOwner = {
  readonly service: string
  readonly categories: readonly string[]
  readonly store: Pick<EventStore, 'read'>
  readonly bus: Bus
  readonly log: Logger
}

/**
 * Handles requests at the owner, which publishes facts only from its own store. An invalid request is logged and dropped,
 * because parking it would let an attacker fill the tables of parked keys.
 */
export const createRepublisher =
  ({ service, categories, store, bus, log }: FactOwner) =>
  async ({ headers: { kind, stream = '', revision = '' } }: BusMessage): Promise<HandlerResult> => {
    const event = kind === KIND && isOwn(stream, categories) ? await readEventAt(store, stream, revision) : undefined
    if (event) await bus.publish(eventTopic(service), [factToBus(event)])
    else log.warn({ stream, revision }, 'the requested fact is not in the log of this service; dropping the request')
    return 'done'
  }

const isOwn = (stream: string, categories: readonly string[]): boolean =>
  stream.includes('-') && categories.includes(categoryOf(stream))

async function readEventAt(store: FactOwner['store'], stream: string, revision: string): Promise<StoredEvent | undefined> {
  if (!/^\d{1,15}$/.test(revision)) return undefined
  const [event] = await store.read(stream, Number(revision), 1)
  return event
}
