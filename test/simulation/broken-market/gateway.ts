import type { InProcessGateway, InProcessAnswer } from '@penstock/gateway/in-process-gateway.fixture.ts'
import { type MarketDefect, findFacts } from './tools.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** Makes the gateways give this answer to every `buy` mutation while the defect is active. */
const answerBuyers = (world: SimulatedWorld, isActive: () => boolean, answer: InProcessAnswer): SimulatedWorld => ({
  ...world,
  market: {
    ...world.market,
    addGateway: (process, gateway, died) => world.market.addGateway(process, wrapGateway(gateway, isActive, answer), died),
  },
})

const wrapGateway = (gateway: InProcessGateway, isActive: () => boolean, answer: InProcessAnswer): InProcessGateway => ({
  ...gateway,
  graphql: async (query, variables, bearer) =>
    query.includes('liquidity { buy') && isActive() ? answer : gateway.graphql(query, variables, bearer),
})

const createErrorAnswer = (code: string, message: string): InProcessAnswer => ({ errors: [{ message, extensions: { code } }] })

/** Defects of gateways. The streams do not show them, because a refused purchase appends no fact. */
export const gatewayDefects: Readonly<Record<string, MarketDefect>> = {
  'fails its buyers': (world) =>
    answerBuyers(world, () => true, createErrorAnswer('INTERNAL_SERVER_ERROR', 'TypeError: it has no property of this name')),
  /** After the first sale every buyer gets the answer that there is no offer. */
  'sells only once': (world) =>
    answerBuyers(
      world,
      () => findFacts(world, 'HoldSettled').length > 0,
      createErrorAnswer('NO_OFFER', 'Nobody sells just now.'),
    ),
  /** The final checks cause an unhandled rejection when they read the balances. */
  'is careless in the end': (world) => {
    let balanceReads = 0
    const { control } = world.simnet
    const balances = () => {
      // The first read is at the beginning of the run.
      if (++balanceReads > 1) void Promise.reject(new Error('an unhandled rejection'))
      return control.balances()
    }
    return { ...world, simnet: { ...world.simnet, control: { ...control, balances } } }
  },
}
