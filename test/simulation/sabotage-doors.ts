import type { Door, DoorAnswer } from '@penstock/gateway/door.contract.ts'
import { type Sabotage, told } from './sabotage-tools.ts'
import type { World } from './world.ts'

/** Whoever buys is answered so, once it has come to that. */
const buyersTold = (world: World, isTime: () => boolean, answer: DoorAnswer): World => ({
  ...world,
  market: {
    ...world.market,
    opened: (process, door, died) => world.market.opened(process, withDoor(door, isTime, answer), died),
  },
})

const withDoor = (door: Door, isTime: () => boolean, answer: DoorAnswer): Door => ({
  ...door,
  graphql: async (query, variables, bearer) =>
    query.includes('liquidity { buy') && isTime() ? answer : door.graphql(query, variables, bearer),
})

const answerOf = (code: string, message: string): DoorAnswer => ({ errors: [{ message, extensions: { code } }] })

/** A market that serves nobody, and whose streams do not show it. */
export const doors: Readonly<Record<string, Sabotage>> = {
  'fails its buyers': (world) =>
    buyersTold(world, () => true, answerOf('INTERNAL_SERVER_ERROR', 'TypeError: it has no property of this name')),
  /** Once it has sold something it tells everybody that there is nothing to be had. */
  'sells only once': (world) =>
    buyersTold(world, () => told(world, 'HoldSettled').length > 0, answerOf('NO_OFFER', 'Nobody sells just now.')),
  /** Somebody lets go of a promise when the last looks are taken, and not before. */
  'is careless in the end': (world) => {
    let asked = 0
    const { control } = world.simnet
    const balances = () => {
      // They are asked for at the beginning, too.
      if (++asked > 1) void Promise.reject(new Error('nobody waits for it'))
      return control.balances()
    }
    return { ...world, simnet: { ...world.simnet, control: { ...control, balances } } }
  },
}
