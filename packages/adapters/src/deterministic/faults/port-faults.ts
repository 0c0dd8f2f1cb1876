import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { HoldInvoices, Invoice, Lightning, Payments } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { CallOptions, SimulatedProcess } from './crash-injection.ts'
import { type StreamFaults, streamWithFaults } from './stream-faults.ts'

const QUERY_FAULTS = { fault: 'lightningFault', answerLost: 'lightningUnknown' } as const satisfies CallOptions
/** A call that changes a node may be applied after its caller has timed out or crashed. A late query has no effect. */
const CHANGE_FAULTS = { ...QUERY_FAULTS, late: 'lightningLate', orphan: 'lightningOrphan' } as const satisfies CallOptions
const STREAM_FAULTS = { cut: 'watchCut', silent: 'watchSilent', repeat: 'watchRepeat' } as const satisfies StreamFaults

/** Adds latency and faults to a process's calls to a Lightning node. The node survives a crash of the process. */
export const withLightningFaults = (process: SimulatedProcess, node: Lightning): Lightning => ({
  ...withCallFaults(process, 'lightning', node, QUERY_FAULTS),
  holds: {
    ...withCallFaults(process, 'lightning.holds', node.holds, QUERY_FAULTS, ['create', 'settle', 'cancel']),
    ...withUnnamedPeers(process, node.holds),
  },
  payments: {
    ...withCallFaults(process, 'lightning.payments', node.payments, QUERY_FAULTS, ['createInvoice']),
    pay: withPaymentFaults(process, node.payments),
  },
  channels: {
    ...withCallFaults(process, 'lightning.channels', node.channels, QUERY_FAULTS, [
      'prepare',
      'publish',
      'abandon',
      'bumpFee',
      'close',
    ]),
    changes: (signal) =>
      streamWithFaults(process, 'lightning.channels.changes', signal, (end) => node.channels.changes(end), STREAM_FAULTS),
  },
})

/** At times the node does not name the peers of a payment, as if it no longer knew their channels. */
function withUnnamedPeers(process: SimulatedProcess, holds: HoldInvoices): Pick<HoldInvoices, 'find' | 'held' | 'changes'> {
  const hidePeers = <T extends Invoice | undefined>(invoice: T): T =>
    invoice && process.isInjected('peerUnnamed')
      ? { ...invoice, htlcs: invoice.htlcs.map((htlc) => ({ ...htlc, peer: null })) }
      : invoice
  const faulty = withCallFaults(process, 'lightning.holds', holds, QUERY_FAULTS)
  return {
    find: async (paymentHash) => hidePeers(await faulty.find(paymentHash)),
    held: async () => (await faulty.held()).map(hidePeers),
    async *changes(paymentHash, signal) {
      const open = (end: AbortSignal) => holds.changes(paymentHash, end)
      for await (const invoice of streamWithFaults(process, 'lightning.holds.changes', signal, open, STREAM_FAULTS))
        yield hidePeers(invoice)
    },
  }
}

/**
 * Converts `notAfter` from the monotonic clock of the process to the clock of the simulation, which the node reads. The deadline
 * `notAfter` limits only the sending of a call, so the delay of a late call is added to it.
 */
const withPaymentFaults =
  (process: SimulatedProcess, payments: Payments): Payments['pay'] =>
  (request, { notAfter, ...options }) => {
    const { clock, schedule, call } = process
    const inWorldTime = (lateMs: number) =>
      notAfter === undefined ? {} : { notAfter: notAfter - clock.monotonicMs() + schedule.clock.monotonicMs() + lateMs }
    return call(
      'lightning.payments.pay',
      async (lateMs) => {
        if (process.isInjected('paymentRefused') && !(await payments.find(decodePaymentRequest(request)?.paymentHash ?? '')))
          return { state: 'failed', reason: 'refused' } as const
        return payments.pay(request, { ...options, ...inWorldTime(lateMs) })
      },
      CHANGE_FAULTS,
    )
  }

/** Adds latency and faults to a chain source. A listener gets only the newest tip, late. No fault ends the stream of tips. */
export const withChainFaults = (process: SimulatedProcess, chain: Chain): Chain => ({
  ...withCallFaults(process, 'chain', chain, { fault: 'chainFault' }),
  tips: (signal) => streamWithFaults(process, 'chain.tips', signal, (end) => chain.tips(end)),
})

export const withRateFaults = (process: SimulatedProcess, source: RateSource): RateSource => ({
  name: source.name,
  read: () => process.call(`rates.${source.name}`, () => source.read(), { fault: 'outsideFault' }),
})

/**
 * Adds latency and faults to a port of asynchronous calls. Method `fetch` of a port `order` has the crash point `order.fetch`.
 * @param changes the methods that change state
 */
function withCallFaults<Port extends object>(
  process: SimulatedProcess,
  name: string,
  port: Port,
  options: CallOptions,
  changes: readonly (keyof Port)[] = [],
): Port {
  const entries = Object.entries(port).map(([key, member]: [string, unknown]) => {
    const point = `${name}.${key}`
    if (typeof member === 'object' && member !== null) return [key, withCallFaults(process, point, member, options)]
    if (typeof member !== 'function') return [key, member]
    const method = member.bind(port) as (...args: readonly unknown[]) => unknown // a port has methods of any type
    const callOptions = changes.some((act) => act === key) ? CHANGE_FAULTS : options
    return [key, (...args: readonly unknown[]) => process.call(point, () => method(...args), callOptions)]
  })
  return Object.fromEntries(entries) as Port // the same methods, with latency and faults
}
