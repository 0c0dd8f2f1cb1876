import type { SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { ServiceName } from '@penstock/standalone/registry.ts'
import type { CountOccurrence } from '../coverage.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** Records the names of all calls of a process, at which it can crash, and tracks its disturbances. */
export function recordCalls(
  name: string,
  unwatched: SimulatedProcess,
  { crashPoints, activeFaults }: Pick<SimulatedWorld, 'crashPoints' | 'activeFaults'>,
): SimulatedProcess {
  const process = activeFaults.watchProcess(name, unwatched)
  return {
    ...process,
    call: (point, apply, options) => {
      crashPoints.add(point)
      return process.call(point, apply, options)
    },
  }
}

/** Counts the appends of a process that conflict. */
export const countAppends = (store: EventStore, countOccurrence: CountOccurrence): EventStore => ({
  ...store,
  async append(stream, expected, events) {
    const answer = await store.append(stream, expected, events)
    if (answer.outcome === 'conflict') countOccurrence('append that met a conflict')
    return answer
  },
})

/** Counts messages that a consumer group handles after a later message of the topic, which has another key. */
export type OvertakingCounter = {
  /** @param onMessage called before each message is handled */
  withCounting(bus: Bus, onMessage: () => void): Bus
}

export function createOvertakingCounter(
  topic: (name: string) => readonly BusMessage[],
  countOccurrence: CountOccurrence,
): OvertakingCounter {
  const indexes = new Map<string, Map<string, number>>()
  const lastIndexes = new Map<string, number>()
  const handledIds = new Set<string>()
  const findIndex = (name: string, id: string): number => {
    const known = indexes.get(name) ?? new Map<string, number>()
    indexes.set(name, known)
    const messages = topic(name)
    for (let index = known.size; index < messages.length; index++) known.set(messages[index]?.id ?? '', index)
    return known.get(id) ?? 0
  }
  return {
    withCounting: (bus, onMessage) => ({
      ...bus,
      subscribe: (subscription) =>
        bus.subscribe({
          ...subscription,
          handle: (message) => {
            const consumer = `${subscription.group} ${subscription.topic}`
            const index = findIndex(subscription.topic, message.id)
            const last = lastIndexes.get(consumer) ?? -1
            // A redelivered message also has a lower index, but does not count.
            if (!handledIds.has(`${consumer} ${message.id}`) && index < last)
              countOccurrence('message that one of another key overtook')
            handledIds.add(`${consumer} ${message.id}`)
            lastIndexes.set(consumer, Math.max(last, index))
            onMessage()
            return subscription.handle(message)
          },
        }),
    }),
  }
}

/** Counts a service as handled by both replicas if one replica handles a message after the other, and both are alive. */
export function createReplicaCounter(countOccurrence: CountOccurrence, isAlive: (name: string) => boolean) {
  const lastReplica = new Map<ServiceName, string>()
  return (service: ServiceName, name: string): void => {
    const lastName = lastReplica.get(service)
    if (lastName !== undefined && lastName !== name && isAlive(lastName)) countOccurrence(`both replicas at work: ${service}`)
    lastReplica.set(service, name)
  }
}
