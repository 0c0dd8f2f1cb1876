import type { Lightning } from '@penstock/ports/lightning.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

export type MarketDefect = (world: SimulatedWorld) => SimulatedWorld

/** Changes the market's own node. */
export const withNode = (world: SimulatedWorld, change: (node: Lightning) => Lightning): SimulatedWorld => ({
  ...world,
  simnet: {
    ...world.simnet,
    lightning: (alias) => (alias === 'market' ? change(world.simnet.lightning(alias)) : world.simnet.lightning(alias)),
  },
})

/** Runs an action whenever settlement lists the holds of the node, which it does frequently. */
export const onHoldsListed = (world: SimulatedWorld, action: () => void): SimulatedWorld =>
  withNode(world, (node) => ({
    ...node,
    holds: {
      ...node.holds,
      held: async () => {
        action()
        return node.holds.held()
      },
    },
  }))

/** @returns the facts of one type in the log so far */
export const findFacts = ({ store }: SimulatedWorld, factType: string): readonly StoredEvent[] =>
  store.memory.log.filter(({ type }) => type === factType)
