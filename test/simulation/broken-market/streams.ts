import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { type MarketDefect, findFacts, onHoldsListed, withNode } from './tools.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** Changes the events of each append. */
const withAppends = (
  world: SimulatedWorld,
  change: (stream: string, events: readonly NewEvent[]) => readonly NewEvent[],
): SimulatedWorld => ({
  ...world,
  store: {
    ...world.store,
    connect: (process): EventStore => {
      const store = world.store.connect(process)
      return { ...store, append: async (stream, expected, events) => store.append(stream, expected, change(stream, events)) }
    },
  },
})

/** Parses the data of a fact. The caller gives the type, as the fact's contract defines it. */
const parseData = <Data>({ data }: { readonly data: string }): Data => JSON.parse(data) as Data

const GUARD_BLOCKS = 24

/** Makes every append of a cancellation at the last height fail until `lateBlocks` blocks after that height. */
const dropLastHeightDecision =
  (lateBlocks: number): MarketDefect =>
  (world) =>
    withAppends(world, (stream, events) => {
      const isLastHeightDecision = events.some(
        (event) => event.type === 'CancelRequested' && parseData<{ readonly reason: string }>(event).reason === 'last-height',
      )
      const held = findFacts(world, 'HoldHeld').find((event) => event.stream === stream)
      if (!isLastHeightDecision || !held) return events
      const [block] = world.simnet.rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')
      const lateHeight = parseData<{ readonly expiryHeight: number }>(held).expiryHeight - GUARD_BLOCKS + lateBlocks
      if (Number(block?.height ?? 0) < lateHeight) throw new Fault('the append is dropped')
      return events
    })

/** Defects that drop or change facts, and defects of processes. */
export const streamDefects: Readonly<Record<string, MarketDefect>> = {
  'is silent at the last height': dropLastHeightDecision(Number.POSITIVE_INFINITY),
  'speaks a few blocks late': dropLastHeightDecision(5),
  /** The guard also waits forever for an answer of its node, so the checks treat the guard as disturbed. */
  'is silent and waits': (world) =>
    withNode(dropLastHeightDecision(Number.POSITIVE_INFINITY)(world), (node) => ({
      ...node,
      holds: {
        ...node.holds,
        held: () => (findFacts(world, 'HoldHeld').length > 0 ? new Promise<never>(() => undefined) : node.holds.held()),
      },
    })),
  /** A held payment is stored with a larger amount than the state hash covers. */
  'changes a fact': (world) =>
    withAppends(world, (_, events) =>
      events.map((event) =>
        event.type === 'HoldHeld' ? { ...event, data: event.data.replace('"receivedMsat":"', '"receivedMsat":"1') } : event,
      ),
    ),
  /** Every consumer parks each `HoldHeld` message. */
  'sets a message aside': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      connect: (process, options) => {
        const bus = world.bus.connect(process, options)
        return {
          ...bus,
          subscribe: (subscription) =>
            bus.subscribe({
              ...subscription,
              handle: async (message) =>
                message.headers['type'] === 'HoldHeld' ? { park: 'the defect parks it' } : subscription.handle(message),
            }),
        }
      },
    },
  }),
  'lets go of a promise': (world) => onHoldsListed(world, () => void Promise.reject(new Error('an unhandled rejection'))),
  'does not start': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      connect: (process, options) => {
        if (process.name.startsWith('quote')) throw new TypeError('the code is wrong')
        return world.bus.connect(process, options)
      },
    },
  }),
}
