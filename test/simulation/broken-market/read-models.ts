import type { Bus } from '@penstock/ports/bus.ts'
import { type MarketDefect, findFacts, onHoldsListed } from './tools.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** Runs SQL that changes rows of read models, unless a transaction is open. */
function overwriteViews({ views }: SimulatedWorld, sql: string): void {
  try {
    views.rows(sql)
  } catch {
    // The next listing of holds retries the change.
  }
}

/** Creates a bus whose subscribers acknowledge one type of fact without handling it. */
const ignoreFact = (bus: Bus, fact: string): Bus => ({
  ...bus,
  subscribe: (subscription) =>
    bus.subscribe({
      ...subscription,
      handle: async (message) => (message.headers['type'] === fact ? 'done' : subscription.handle(message)),
    }),
})

/** Defects of read models. */
export const readModelDefects: Readonly<Record<string, MarketDefect>> = {
  /** Read models record a revision that is larger than that of the last fact. */
  'reads ahead': (world) =>
    onHoldsListed(world, () => {
      if (findFacts(world, 'HoldHeld').length > 0) overwriteViews(world, 'UPDATE progress_streams SET revision = revision + 1')
    }),
  /** After a settlement, all orders have a wrong source. */
  'shows what is not so': (world) =>
    onHoldsListed(world, () => {
      if (findFacts(world, 'HoldSettled').length > 0) overwriteViews(world, "UPDATE gateway_orders_v2 SET source = 'nobody'")
    }),
  /** Every hold has the expiry height 1. */
  'shows another height': (world) =>
    onHoldsListed(world, () => {
      if (findFacts(world, 'HoldHeld').length > 0)
        overwriteViews(world, "UPDATE gateway_holds_v2 SET view = json_set(view, '$.expiryHeight', 1)")
    }),
  /** Every wallet has received one satoshi. */
  'shows another balance': (world) =>
    onHoldsListed(world, () => {
      if (findFacts(world, 'ReceiveCompleted').length > 0)
        overwriteViews(world, "UPDATE gateway_wallet_totals SET received = '1'")
    }),
  /** The gateways never receive the end of an order. */
  'does not listen': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      connect: (process, options) => {
        const bus = world.bus.connect(process, options)
        return process.name.startsWith('gateway') ? ignoreFact(bus, 'MonitoringFinished') : bus
      },
    },
  }),
}
