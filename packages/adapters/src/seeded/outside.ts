import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning, Payments } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { CallOptions, Mortal } from './mortal.ts'
import { type StreamOptions, streamTo } from './streams.ts'

const ASK = { fault: 'lightningFault', unknown: 'lightningUnknown' } as const satisfies CallOptions
/** What changes something at a node may come to it when nobody waits for it any more; of a question that is nothing. */
const ACT = { ...ASK, late: 'lightningLate', orphan: 'lightningOrphan' } as const satisfies CallOptions
const WATCH = { cut: 'watchCut', silent: 'watchSilent', repeat: 'watchRepeat' } as const satisfies StreamOptions

/** A Lightning node as a process reaches it: the node itself lives outside and goes on when the process dies. */
export const lightningFor = (process: Mortal, node: Lightning): Lightning => ({
  ...throughCalls(process, 'lightning', node, ASK),
  holds: {
    ...throughCalls(process, 'lightning.holds', node.holds, ASK, ['create', 'settle', 'cancel']),
    changes: (paymentHash, signal) =>
      streamTo(process, 'lightning.holds.changes', signal, (end) => node.holds.changes(paymentHash, end), WATCH),
  },
  payments: {
    ...throughCalls(process, 'lightning.payments', node.payments, ASK, ['createInvoice']),
    pay: payThrough(process, node.payments),
  },
  channels: {
    ...throughCalls(process, 'lightning.channels', node.channels, ASK, ['prepare', 'publish', 'abandon', 'bumpFee', 'close']),
    changes: (signal) => streamTo(process, 'lightning.channels.changes', signal, (end) => node.channels.changes(end), WATCH),
  },
})

/**
 * A reading of the process's monotonic clock is another one of the world's, to which a node looks. Only the sender looks at it: what
 * comes late was sent in time.
 */
const payThrough =
  (process: Mortal, payments: Payments): Payments['pay'] =>
  (request, { notAfter, ...options }) => {
    const { clock, world, call } = process
    const inWorldTime = (lateMs: number) =>
      notAfter === undefined ? {} : { notAfter: notAfter - clock.monotonicMs() + world.clock.monotonicMs() + lateMs }
    return call('lightning.payments.pay', (lateMs) => payments.pay(request, { ...options, ...inWorldTime(lateMs) }), ACT)
  }

/** A chain source. Its tips come late and some are skipped, since whoever listens gets the newest; they never end. */
export const chainFor = (process: Mortal, chain: Chain): Chain => ({
  ...throughCalls(process, 'chain', chain, { fault: 'chainFault' }),
  tips: (signal) => streamTo(process, 'chain.tips', signal, (end) => chain.tips(end)),
})

export const ratesFor = (process: Mortal, source: RateSource): RateSource => ({
  name: source.name,
  read: () => process.call(`rates.${source.name}`, () => source.read(), { fault: 'outsideFault' }),
})

/**
 * Any port of asynchronous calls, as a process reaches it: `order.fetch` is the point of its method `fetch`.
 * @param acts its methods that change something
 */
function throughCalls<Port extends object>(
  process: Mortal,
  name: string,
  port: Port,
  options: CallOptions,
  acts: readonly (keyof Port)[] = [],
): Port {
  const entries = Object.entries(port).map(([key, part]: [string, unknown]) => {
    const point = `${name}.${key}`
    if (typeof part === 'object' && part !== null) return [key, throughCalls(process, point, part, options)]
    if (typeof part !== 'function') return [key, part]
    const method = part.bind(port) as (...given: readonly unknown[]) => unknown // a port's calls take and give what they like
    const how = acts.some((act) => act === key) ? ACT : options
    return [key, (...given: readonly unknown[]) => process.call(point, () => method(...given), how)]
  })
  return Object.fromEntries(entries) as Port // the same keys, each with what answers as before, only later
}
