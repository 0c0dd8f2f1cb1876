import { Fault } from '@penstock/kernel/result.ts'
import { type MarketDefect, findFacts, withNode } from './tools.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** The number of blocks for which a payment can be held. */
const HOLD_BLOCKS = 147

/** Defects in the handling of holds. */
export const holdDefects: Readonly<Record<string, MarketDefect>> = {
  /** Each hold is settled as soon as the node lists it as held. */
  'settles before the proof': (world) => {
    const orders = new Map<string, readonly [string, string, number]>()
    const { keyring } = world
    const recordingWorld: SimulatedWorld = {
      ...world,
      keyring: {
        ...keyring,
        paymentHashOf(orderId, issue) {
          const hold = keyring.paymentHashOf(orderId, issue)
          orders.set(hold.paymentHash, [hold.keyId, orderId, issue])
          return hold
        },
      },
    }
    return withNode(recordingWorld, (node) => ({
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
  /** The node reports a cancellation as done, but never executes it. */
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
  /** The market's node rejects only cancellations. */
  'cannot give back': (world) =>
    withNode(world, (node) => ({ ...node, holds: { ...node.holds, cancel: () => Promise.reject(new Fault('not now')) } })),
  /** The market's node rejects only settlements. */
  'cannot take its money': (world) =>
    withNode(world, (node) => ({ ...node, holds: { ...node.holds, settle: () => Promise.reject(new Fault('not now')) } })),
  /** Once a settlement has started, the node reports a height past the payment's expiry, so the market does not settle it. */
  'thinks it too late': (world) =>
    withNode(world, (node) => ({
      ...node,
      async info() {
        const info = await node.info()
        return findFacts(world, 'SettlementStarted').length > 0 ? { ...info, height: info.height + HOLD_BLOCKS } : info
      },
    })),
  /** Once a payment is held, settlement gets no answers about holds from its node, and no blocks. */
  'sleeps over its holds': (world) => {
    const hasStopped = () => findFacts(world, 'HoldHeld').length > 0
    const answerUnlessStopped = async <T>(answer: Promise<T>): Promise<T> =>
      hasStopped() ? new Promise<never>(() => undefined) : answer
    const stoppedWorld = withNode(world, (node) => ({
      ...node,
      holds: {
        ...node.holds,
        held: () => answerUnlessStopped(node.holds.held()),
        find: (hash) => answerUnlessStopped(node.holds.find(hash)),
        async *changes(hash, signal) {
          for await (const change of node.holds.changes(hash, signal)) yield await answerUnlessStopped(Promise.resolve(change))
        },
      },
    }))
    const chain = world.simnet.chain()
    return {
      ...stoppedWorld,
      simnet: {
        ...stoppedWorld.simnet,
        chain: () => ({
          ...chain,
          async *tips(signal) {
            for await (const tip of chain.tips(signal)) yield await answerUnlessStopped(Promise.resolve(tip))
          },
        }),
      },
    }
  },
}
