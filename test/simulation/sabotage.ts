import type { Lightning } from '@penstock/ports/lightning.ts'
import type { World } from './world.ts'

/** Small faults of a market that steals or forgets, to know that the checks can fail. */
export type Sabotage = (world: World) => World

const withNode = (world: World, change: (node: Lightning) => Lightning): World => ({
  ...world,
  simnet: {
    ...world.simnet,
    lightning: (alias) => (alias === 'market' ? change(world.simnet.lightning(alias)) : world.simnet.lightning(alias)),
  },
})

export const sabotages: Readonly<Record<string, Sabotage>> = {
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
  /** A payout is told to be made and is not. */
  'does not pay out': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        pay: async () => ({ state: 'succeeded' as const, preimage: '00'.repeat(32), feeMsat: 0n }),
      },
    })),
}
