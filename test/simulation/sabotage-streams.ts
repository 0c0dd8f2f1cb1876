import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { type Sabotage, told, whenAsked, withNode } from './sabotage-tools.ts'
import type { World } from './world.ts'

/** What is appended passes somebody's hands. */
const withAppends = (world: World, change: (stream: string, events: readonly NewEvent[]) => readonly NewEvent[]): World => ({
  ...world,
  store: {
    ...world.store,
    of: (process): EventStore => {
      const store = world.store.of(process)
      return { ...store, append: async (stream, expected, events) => store.append(stream, expected, change(stream, events)) }
    },
  },
})

/** By the facts' own contracts. */
const dataOf = <Data>({ data }: { readonly data: string }): Data => JSON.parse(data) as Data

const GUARD_BLOCKS = 24

/** What the guard says at the last height comes to nothing, whoever says it, until so many blocks later. */
const speechless =
  (lateBlocks: number): Sabotage =>
  (world) =>
    withAppends(world, (stream, events) => {
      const isLastWord = events.some(
        (event) => event.type === 'CancelRequested' && dataOf<{ readonly reason: string }>(event).reason === 'last-height',
      )
      const held = told(world, 'HoldHeld').find((event) => event.stream === stream)
      if (!isLastWord || !held) return events
      const [block] = world.simnet.rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')
      const lateHeight = dataOf<{ readonly expiryHeight: number }>(held).expiryHeight - GUARD_BLOCKS + lateBlocks
      if (Number(block?.height ?? 0) < lateHeight) throw new Fault('nobody heard it')
      return events
    })

/** Facts that are not told, or not as they were decided, and processes that do not stand up to it. */
export const tellers: Readonly<Record<string, Sabotage>> = {
  'is silent at the last height': speechless(Number.POSITIVE_INFINITY),
  'speaks a few blocks late': speechless(5),
  /** It waits for an answer of its node besides, so that nobody can say that nothing troubles it. */
  'is silent and waits': (world) =>
    withNode(speechless(Number.POSITIVE_INFINITY)(world), (node) => ({
      ...node,
      holds: {
        ...node.holds,
        held: () => (told(world, 'HoldHeld').length > 0 ? new Promise<never>(() => undefined) : node.holds.held()),
      },
    })),
  /** A payment is stored as a larger one, past the hashes. */
  'changes a fact': (world) =>
    withAppends(world, (_, events) =>
      events.map((event) =>
        event.type === 'HoldHeld' ? { ...event, data: event.data.replace('"receivedMsat":"', '"receivedMsat":"1') } : event,
      ),
    ),
  /** The gateway sets aside that a payment is held. */
  'sets a message aside': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      of: (process, options) => {
        const bus = world.bus.of(process, options)
        return {
          ...bus,
          subscribe: (subscription) =>
            bus.subscribe({
              ...subscription,
              handle: async (message) =>
                message.headers['type'] === 'HoldHeld' ? { park: 'nobody knows what to do' } : subscription.handle(message),
            }),
        }
      },
    },
  }),
  'lets go of a promise': (world) => whenAsked(world, () => void Promise.reject(new Error('nobody waits for it'))),
  'does not start': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      of: (process, options) => {
        if (process.name.startsWith('quote')) throw new TypeError('the code is wrong')
        return world.bus.of(process, options)
      },
    },
  }),
}
