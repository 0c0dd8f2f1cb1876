import type { Lightning } from '@penstock/ports/lightning.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { World } from './world.ts'

export type Sabotage = (world: World) => World

/** The market's own node is another one. */
export const withNode = (world: World, change: (node: Lightning) => Lightning): World => ({
  ...world,
  simnet: {
    ...world.simnet,
    lightning: (alias) => (alias === 'market' ? change(world.simnet.lightning(alias)) : world.simnet.lightning(alias)),
  },
})

/** Does something whenever the node is asked what it holds, which settlement does again and again. */
export const whenAsked = (world: World, act: () => void): World =>
  withNode(world, (node) => ({
    ...node,
    holds: {
      ...node.holds,
      held: async () => {
        act()
        return node.holds.held()
      },
    },
  }))

/** What was told of one kind so far. */
export const told = ({ store }: World, fact: string): readonly StoredEvent[] =>
  store.memory.log.filter(({ type }) => type === fact)
