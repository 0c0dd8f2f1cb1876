import { settlementContract as contract, type SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { deriveId } from '@penstock/runtime/commands/derived-ids.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { Settlement } from '../state.ts'
import { findInvoiceChange } from './guard/invoice-changes.ts'
import type { SettlementPorts } from './ports.ts'
import type { PeerSlots } from './guard/peer-slots.ts'

export type SettlementJobContext = ServiceContext<SettlementPorts>

const { category } = contract

/** Reads the present state of an order's hold and payout from its stream. */
export async function loadSettlement(context: Pick<SettlementJobContext, 'load'>, orderId: string): Promise<Settlement> {
  const { state } = await context.load(category, orderId)
  return state as Settlement // the category's own state
}

export const listUnfinishedOrders = (context: Pick<SettlementJobContext, 'listOpenStreams'>): Promise<readonly string[]> =>
  context.listOpenStreams(category)

/** Decides a command at once and starts the steps of the new state, without waiting for messages on the bus. */
export async function decideNow(
  context: SettlementJobContext,
  orderId: string,
  command: CommandBody<SettlementCommand>,
  cause: string,
): Promise<void> {
  await context.decide({ category, id: orderId, command }, deriveId(category, orderId, command.type, cause))
  await context.runProcess(category, orderId)
}

const findCrowdedPeer = (
  { ports }: SettlementJobContext,
  slots: PeerSlots,
  orderId: string,
  htlcs: readonly { readonly peer: string | null }[],
): string | null =>
  slots.take(
    orderId,
    htlcs.map(({ peer }) => peer),
    ports.config.heldPerPeer,
  )

/** Takes the slots of a payment that the stream has accepted, and frees the slots of an ended hold. */
export function syncPeerSlots(slots: PeerSlots, orderId: string, { hold }: Settlement): void {
  if (hold.payment && hold.atNode === 'held') slots.add(orderId, hold.payment.peers)
  else if (hold.status === 'settled' || hold.status === 'cancelled') slots.free(orderId)
}

/** An invoice as the node shows it, beside the state of its order that was read before. */
export type InvoiceObservation = { readonly settlement: Settlement; readonly invoice: Invoice; readonly height: number }

/**
 * Records a change of the invoice at the node that the stream does not contain yet.
 * @returns whether there was a change
 */
export async function recordInvoiceChange(
  context: SettlementJobContext,
  slots: PeerSlots,
  orderId: string,
  { settlement: { hold }, invoice, height }: InvoiceObservation,
): Promise<boolean> {
  const change = findInvoiceChange(hold, invoice, height, context.ports.clock.now())
  if (!change) return false
  const command: CommandBody<SettlementCommand> =
    change.type === 'RecordHeld'
      ? { type: 'RecordHeld', data: { ...change.data, crowdedPeer: findCrowdedPeer(context, slots, orderId, change.data.htlcs) } }
      : change
  // An invoice that was created late can be cancelled a second time, so the count is part of the id.
  await decideNow(context, orderId, command, `${hold.cancelled?.times ?? 0}`)
  return true
}
