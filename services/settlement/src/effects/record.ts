import { settlement as contract, type SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { derivedId } from '@penstock/runtime/derived-ids.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { Settlement } from '../state.ts'
import { newsOf } from './look.ts'
import type { SettlementPorts } from './ports.ts'
import type { Slots } from './slots.ts'

export type Jobs = ServiceContext<SettlementPorts>

const { category } = contract

/** The present state of an order's money, straight from its stream. */
export async function stateOf(context: Jobs, orderId: string): Promise<Settlement> {
  const { state } = await context.load(category, orderId)
  return state as Settlement // the category's own state
}

export const unfinishedOrders = (context: Jobs): Promise<readonly string[]> => context.unfinished(category)

/** Decides here and now and starts what the new state asks for: nothing that waits in the bus can hold it up. */
export async function decideNow(
  context: Jobs,
  orderId: string,
  command: Wanted<SettlementCommand>,
  cause: string,
): Promise<void> {
  await context.decide({ category, id: orderId, command }, derivedId(category, orderId, command.type, cause))
  await context.advance(category, orderId)
}

const crowded = (
  { ports }: Jobs,
  slots: Slots,
  orderId: string,
  htlcs: readonly { readonly peer: string | null }[],
): string | null =>
  slots.take(
    orderId,
    htlcs.map(({ peer }) => peer),
    ports.config.heldPerPeer,
  )

/** What the stream has accepted already takes its place among the held payments. */
export function keepSlots(slots: Slots, orderId: string, { hold }: Settlement): void {
  if (hold.payment && hold.atNode === 'held') slots.keep(orderId, hold.payment.peers)
  else if (hold.status === 'settled' || hold.status === 'cancelled') slots.free(orderId)
}

/** Tells the stream what the node shows of its invoice, where that is news. */
export async function recordInvoice(
  context: Jobs,
  slots: Slots,
  orderId: string,
  invoice: Invoice,
  height: number,
): Promise<void> {
  const { hold } = await stateOf(context, orderId)
  const news = newsOf(hold, invoice, height, context.ports.clock.now())
  if (!news) return
  const told: Wanted<SettlementCommand> =
    news.type === 'RecordHeld'
      ? { type: 'RecordHeld', data: { ...news.data, crowdedPeer: crowded(context, slots, orderId, news.data.htlcs) } }
      : news
  // An invoice that was made late can be cancelled a second time.
  await decideNow(context, orderId, told, `${hold.cancelled?.times ?? 0}`)
}
