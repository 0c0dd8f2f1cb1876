import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import type { Htlc, Invoice } from '@penstock/ports/lightning.ts'
import type { HoldStatus } from '../lifecycle.ts'
import type { Hold } from '../hold.ts'

type Held = Extract<SettlementCommand, { type: 'RecordHeld' }>['data']

const heldHtlcs = ({ htlcs }: Invoice): readonly Htlc[] => htlcs.filter(({ state }) => state === 'held')

/** @returns undefined while the whole amount has not arrived */
export function heldOf(invoice: Invoice, height: number): Omit<Held, 'crowdedPeer'> | undefined {
  const htlcs = heldHtlcs(invoice)
  if (invoice.state !== 'held' || htlcs.length === 0) return undefined
  return {
    height,
    htlcs: htlcs.map(({ amountMsat, expiryHeight, peer }) => ({ amountMsat: `${amountMsat}`, expiryHeight, peer })),
    receivedMsat: `${htlcs.reduce((sum, { amountMsat }) => sum + amountMsat, 0n)}`,
  }
}

/** @returns when the last part of a held payment came, in milliseconds since 1970; null where the node does not tell of one */
export function wholeSince(invoice: Invoice): number | null {
  const htlcs = heldHtlcs(invoice)
  const times = htlcs.map(({ acceptedAt }) => acceptedAt).filter((at) => at !== null)
  return times.length > 0 && times.length === htlcs.length ? Math.max(...times) : null
}

/** Statuses in which the node's own cancellation is news. */
const CANCELLABLE: readonly HoldStatus[] = ['open', 'held', 'settling', 'cancelling']

/** What the node shows of an invoice and the stream does not know yet. */
export function newsOf(hold: Hold, invoice: Invoice, height: number, at: number): Wanted<SettlementCommand> | undefined {
  if (invoice.state === 'cancelled' && CANCELLABLE.includes(hold.status))
    return { type: 'RecordNodeCancelled', data: { at, height } }
  const held = hold.payment ? undefined : heldOf(invoice, height)
  return held && { type: 'RecordHeld', data: { ...held, crowdedPeer: null } }
}
