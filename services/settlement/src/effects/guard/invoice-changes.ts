import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import type { Htlc, Invoice } from '@penstock/ports/lightning.ts'
import type { HoldStatus } from '../../hold/lifecycle.ts'
import type { Hold } from '../../hold/hold.ts'

type HeldPayment = Extract<SettlementCommand, { type: 'RecordHeld' }>['data']

const heldHtlcs = ({ htlcs }: Invoice): readonly Htlc[] => htlcs.filter(({ state }) => state === 'held')

/** @returns the held payment; undefined while the whole amount has not arrived */
export function toHeldPayment(invoice: Invoice, height: number): Omit<HeldPayment, 'crowdedPeer'> | undefined {
  const htlcs = heldHtlcs(invoice)
  if (invoice.state !== 'held' || htlcs.length === 0) return undefined
  return {
    height,
    htlcs: htlcs.map(({ amountMsat, expiryHeight, peer }) => ({ amountMsat: `${amountMsat}`, expiryHeight, peer })),
    receivedMsat: `${htlcs.reduce((sum, { amountMsat }) => sum + amountMsat, 0n)}`,
  }
}

/** @returns when the last part of a held payment arrived, in milliseconds since 1970; null if the node does not report it */
export function fullyHeldSince(invoice: Invoice): number | null {
  const htlcs = heldHtlcs(invoice)
  const times = htlcs.map(({ acceptedAt }) => acceptedAt).filter((at) => at !== null)
  return times.length > 0 && times.length === htlcs.length ? Math.max(...times) : null
}

/** Statuses in which a cancellation by the node has to be recorded. */
const CANCELLABLE_STATUSES: readonly HoldStatus[] = ['open', 'held', 'settling', 'cancelling']

/** @returns the command for a change of the invoice that the stream does not contain yet; undefined without a change */
export function findInvoiceChange(
  hold: Hold,
  invoice: Invoice,
  height: number,
  at: number,
): CommandBody<SettlementCommand> | undefined {
  if (invoice.state === 'cancelled' && CANCELLABLE_STATUSES.includes(hold.status))
    return { type: 'RecordNodeCancelled', data: { at, height } }
  const held = hold.payment ? undefined : toHeldPayment(invoice, height)
  return held && { type: 'RecordHeld', data: { ...held, crowdedPeer: null } }
}
