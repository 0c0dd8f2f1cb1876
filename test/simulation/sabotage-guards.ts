import { Fault } from '@penstock/kernel/result.ts'
import { type Sabotage, told, withNode } from './sabotage-tools.ts'
import type { World } from './world.ts'

/** As long as a payment may be held. */
const HOLD_BLOCKS = 147

/** Holds that are not treated as they should be. */
export const guards: Readonly<Record<string, Sabotage>> = {
  /** A hold is settled as soon as it is held, by whoever lists what is held. */
  'settles before the proof': (world) => {
    const orders = new Map<string, readonly [string, string, number]>()
    const { keyring } = world
    const remembering: World = {
      ...world,
      keyring: {
        ...keyring,
        paymentHashOf(orderId, issue) {
          const made = keyring.paymentHashOf(orderId, issue)
          orders.set(made.paymentHash, [made.keyId, orderId, issue])
          return made
        },
      },
    }
    return withNode(remembering, (node) => ({
      ...node,
      holds: {
        ...node.holds,
        async held() {
          const held = await node.holds.held()
          for (const { paymentHash } of held) {
            const order = orders.get(paymentHash)
            if (order) await node.holds.settle(keyring.preimageOf(...order))
          }
          return held
        },
      },
    }))
  },
  /** A cancellation is acknowledged, seen as done, and never carried out. */
  'forgets to give back': (world) => {
    const forgotten = new Set<string>()
    return withNode(world, (node) => ({
      ...node,
      holds: {
        ...node.holds,
        async cancel(hash) {
          forgotten.add(hash)
          return 'cancelled'
        },
        async find(hash) {
          const invoice = await node.holds.find(hash)
          return invoice && forgotten.has(hash) ? { ...invoice, state: 'cancelled' } : invoice
        },
        held: async () => (await node.holds.held()).filter(({ paymentHash }) => !forgotten.has(paymentHash)),
      },
    }))
  },
  /** Its node takes no cancellation, and is well. */
  'cannot give back': (world) =>
    withNode(world, (node) => ({ ...node, holds: { ...node.holds, cancel: () => Promise.reject(new Fault('not now')) } })),
  /** Its node takes no preimage, and is well. */
  'cannot take its money': (world) =>
    withNode(world, (node) => ({ ...node, holds: { ...node.holds, settle: () => Promise.reject(new Fault('not now')) } })),
  /** What was proven in time is not taken, since somebody reads a height that is none. */
  'thinks it too late': (world) =>
    withNode(world, (node) => ({
      ...node,
      async info() {
        const info = await node.info()
        return told(world, 'SettleRequested').length > 0 ? { ...info, height: info.height + HOLD_BLOCKS } : info
      },
    })),
  /** As soon as something is held settlement gets no answer of its node, and hears of no block. */
  'sleeps over its holds': (world) => {
    const isAsleep = () => told(world, 'HoldHeld').length > 0
    const awake = async <T>(answer: Promise<T>): Promise<T> => (isAsleep() ? new Promise<never>(() => undefined) : answer)
    const sleepy = withNode(world, (node) => ({
      ...node,
      holds: {
        ...node.holds,
        held: () => awake(node.holds.held()),
        find: (hash) => awake(node.holds.find(hash)),
        async *changes(hash, signal) {
          for await (const change of node.holds.changes(hash, signal)) yield await awake(Promise.resolve(change))
        },
      },
    }))
    const chain = world.simnet.chain()
    return {
      ...sleepy,
      simnet: {
        ...sleepy.simnet,
        chain: () => ({
          ...chain,
          async *tips(signal) {
            for await (const tip of chain.tips(signal)) yield await awake(Promise.resolve(tip))
          },
        }),
      },
    }
  },
}
