import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning, Payments } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { CallOptions, Mortal } from './mortal.ts'
import { streamTo } from './streams.ts'

/** A Lightning node as a process reaches it: the node itself lives outside and goes on when the process dies. */
export const lightningFor = (process: Mortal, node: Lightning): Lightning => ({
  ...throughCalls(
    process,
    'lightning',
    { ...node, payments: inWorldTime(process, node.payments) },
    { fault: 'lightningFault', unknown: 'lightningUnknown' },
  ),
  holds: {
    ...throughCalls(process, 'lightning.holds', node.holds, { fault: 'lightningFault', unknown: 'lightningUnknown' }),
    changes: (paymentHash, signal) =>
      streamTo(process, 'lightning.holds.changes', signal, (end) => node.holds.changes(paymentHash, end), {
        cut: 'watchCut',
        silent: 'watchSilent',
        repeat: 'watchRepeat',
      }),
  },
  channels: {
    ...throughCalls(process, 'lightning.channels', node.channels, { fault: 'lightningFault', unknown: 'lightningUnknown' }),
    changes: (signal) =>
      streamTo(process, 'lightning.channels.changes', signal, (end) => node.channels.changes(end), {
        cut: 'watchCut',
        silent: 'watchSilent',
        repeat: 'watchRepeat',
      }),
  },
})

/** An instant of the process's clock is another one of the world's, to which a node looks. */
const inWorldTime = ({ clock, world }: Mortal, payments: Payments): Payments => ({
  ...payments,
  pay: (request, { notAfter, ...options }) =>
    payments.pay(request, { ...options, ...(notAfter !== undefined && { notAfter: notAfter - clock.now() + world.now() }) }),
})

/** A chain source. Its tips come late and some are skipped, since whoever listens gets the newest; they never end. */
export const chainFor = (process: Mortal, chain: Chain): Chain => ({
  ...throughCalls(process, 'chain', chain, { fault: 'chainFault' }),
  tips: (signal) => streamTo(process, 'chain.tips', signal, (end) => chain.tips(end)),
})

export const ratesFor = (process: Mortal, source: RateSource): RateSource => ({
  name: source.name,
  read: () => process.call(`rates.${source.name}`, () => source.read(), { fault: 'outsideFault' }),
})

/** Any port of asynchronous calls, as a process reaches it: `order.fetch` is the point of its method `fetch`. */
function throughCalls<Port extends object>(process: Mortal, name: string, port: Port, options: CallOptions): Port {
  const entries = Object.entries(port).map(([key, part]: [string, unknown]) => {
    const point = `${name}.${key}`
    if (typeof part === 'object' && part !== null) return [key, throughCalls(process, point, part, options)]
    if (typeof part !== 'function') return [key, part]
    const method = part.bind(port) as (...given: readonly unknown[]) => unknown // a port's calls take and give what they like
    return [key, (...given: readonly unknown[]) => process.call(point, () => method(...given), options)]
  })
  return Object.fromEntries(entries) as Port // the same keys, each with what answers as before, only later
}
