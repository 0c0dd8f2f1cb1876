import type { Mortal } from '@penstock/adapters/seeded/mortal.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { SERVICES } from './plan.ts'
import type { Reached } from './reached.ts'
import type { World } from './world.ts'

type Service = (typeof SERVICES)[number]

/** Notes which calls there are to die at, and what keeps the process from its work. */
export function watched(name: string, born: Mortal, { points, troubles }: Pick<World, 'points' | 'troubles'>): Mortal {
  const process = troubles.watched(name, born)
  return {
    ...process,
    call: (point, apply, options) => {
      points.add(point)
      return process.call(point, apply, options)
    },
  }
}

/** Counts what becomes of the appends of a process. */
export const countedStore = (store: EventStore, reached: Reached, isPinned: boolean): EventStore => ({
  ...store,
  async append(stream, expected, events) {
    const answer = await store.append(stream, expected, events)
    if (answer.outcome === 'conflict') reached('append that met a conflict')
    else if (isPinned) reached('append by a process with pinned contracts')
    return answer
  },
})

/** Counts messages that are handled at last when a later one of another key was handled already. */
export type Overtakings = {
  /** @param works is told of each message that is handled */
  counted(bus: Bus, works: () => void): Bus
}

export function openOvertakings(topic: (name: string) => readonly BusMessage[], reached: Reached): Overtakings {
  const places = new Map<string, Map<string, number>>()
  const furthest = new Map<string, number>()
  const met = new Set<string>()
  const placeOf = (name: string, id: string): number => {
    const known = places.get(name) ?? new Map<string, number>()
    places.set(name, known)
    const all = topic(name)
    for (let place = known.size; place < all.length; place++) known.set(all[place]?.id ?? '', place)
    return known.get(id) ?? 0
  }
  return {
    counted: (bus, works) => ({
      ...bus,
      subscribe: (subscription) =>
        bus.subscribe({
          ...subscription,
          handle: (message) => {
            const consumer = `${subscription.group} ${subscription.topic}`
            const place = placeOf(subscription.topic, message.id)
            const last = furthest.get(consumer) ?? -1
            // A repeated one comes late too, and is none that was overtaken.
            if (!met.has(`${consumer} ${message.id}`) && place < last) reached('message that one of another key overtook')
            met.add(`${consumer} ${message.id}`)
            furthest.set(consumer, Math.max(last, place))
            works()
            return subscription.handle(message)
          },
        }),
    }),
  }
}

/** Counts each time a message or a caller comes to one process of a service after the other one, which lives too. */
export function openShifts(reached: Reached, isAlive: (name: string) => boolean) {
  const latest = new Map<Service, string>()
  return (service: Service, name: string): void => {
    const before = latest.get(service)
    if (before !== undefined && before !== name && isAlive(before)) reached(`both replicas at work: ${service}`)
    latest.set(service, name)
  }
}
