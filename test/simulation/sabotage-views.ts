import type { Bus } from '@penstock/ports/bus.ts'
import { type Sabotage, told, whenAsked } from './sabotage-tools.ts'
import type { World } from './world.ts'

/** Changes what is stored for readers, unless somebody writes just then. */
function overwrite({ views }: World, sql: string): void {
  try {
    views.rows(sql)
  } catch {
    // Next time.
  }
}

/** Acknowledges what it does not handle. */
const deafTo = (bus: Bus, fact: string): Bus => ({
  ...bus,
  subscribe: (subscription) =>
    bus.subscribe({
      ...subscription,
      handle: async (message) => (message.headers['type'] === fact ? 'done' : subscription.handle(message)),
    }),
})

/** Readers that are not told what was appended. */
export const readers: Readonly<Record<string, Sabotage>> = {
  /** Facts count as read before anybody has appended them. */
  'reads ahead': (world) =>
    whenAsked(world, () => {
      if (told(world, 'HoldHeld').length > 0) overwrite(world, 'UPDATE progress_streams SET revision = revision + 1')
    }),
  /** A sold order is shown as somebody else's. */
  'shows what is not so': (world) =>
    whenAsked(world, () => {
      if (told(world, 'HoldSettled').length > 0) overwrite(world, "UPDATE gateway_orders_v2 SET source = 'nobody'")
    }),
  /** Every payment is shown as one that ends at once. */
  'shows another height': (world) =>
    whenAsked(world, () => {
      if (told(world, 'HoldHeld').length > 0)
        overwrite(world, "UPDATE gateway_holds_v2 SET view = json_set(view, '$.expiryHeight', 1)")
    }),
  /** The gateway never hears of the end of an order. */
  'does not listen': (world) => ({
    ...world,
    bus: {
      ...world.bus,
      of: (process, options) => {
        const bus = world.bus.of(process, options)
        return process.name.startsWith('gateway') ? deafTo(bus, 'MonitoringFinished') : bus
      },
    },
  }),
}
