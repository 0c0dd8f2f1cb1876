import type { Bus, BusMessage, Handled } from '@penstock/ports/bus.ts'
import { aggregateIdOf, categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Log } from './log.ts'
import { eventTopic, factToBus, republishTopic } from './messages.ts'

/**
 * Has facts published once more that did not arrive. On a bus that may lose messages the owner is asked: nobody else has a
 * right to its topic, or a process that was taken over could publish what the owner never said. A bus that loses nothing
 * is inside one process.
 */
export async function publishAgain(bus: Bus, owner: string, events: readonly StoredEvent[]): Promise<void> {
  if (bus.mayLose) await bus.publish(republishTopic(owner), events.map(requestFor))
  else await bus.publish(eventTopic(owner), events.map(factToBus))
}

const KIND = 'republish'

const requestFor = ({ id, stream, revision }: StoredEvent): BusMessage => ({
  id,
  key: aggregateIdOf(stream),
  headers: { kind: KIND, stream, revision: `${revision}` },
  body: '{}',
})

export type Owner = {
  readonly service: string
  readonly categories: readonly string[]
  readonly store: Pick<EventStore, 'read'>
  readonly bus: Bus
  readonly log: Log
}

/**
 * The owner's side: what is published comes from its own store, whatever a request says. One that makes no sense is said
 * and dropped, since parking it would let a stranger fill the tables of parked keys.
 */
export const republisher =
  ({ service, categories, store, bus, log }: Owner) =>
  async ({ headers: { kind, stream = '', revision = '' } }: BusMessage): Promise<Handled> => {
    const event = kind === KIND && isOwn(stream, categories) ? await eventAt(store, stream, revision) : undefined
    if (event) await bus.publish(eventTopic(service), [factToBus(event)])
    else log.warn({ stream, revision }, 'somebody wants a fact again that is not in the log of this service')
    return 'done'
  }

const isOwn = (stream: string, categories: readonly string[]): boolean =>
  stream.includes('-') && categories.includes(categoryOf(stream))

async function eventAt(store: Owner['store'], stream: string, revision: string): Promise<StoredEvent | undefined> {
  if (!/^\d{1,15}$/.test(revision)) return undefined
  const [event] = await store.read(stream, Number(revision), 1)
  return event
}
