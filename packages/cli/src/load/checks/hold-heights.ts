import { holdHeights } from '@penstock/contracts/order/heights.ts'
import type { Json } from '../../json.ts'
import { getValueAt, formatValueAt } from '../market/load-market.ts'

const HELD_STATUSES = new Set(['held', 'settling', 'cancelling'])

/** @param report the operator's report of an order */
export const isPaymentHeld = (report: Json): boolean => HELD_STATUSES.has(formatValueAt(report, 'hold.status'))

/** @returns the height at which the market has to settle or cancel the payment; null if no payment is held */
export function readLastHeight(report: Json): number | null {
  const expiryHeight = getValueAt(report, 'hold.expiry_height')
  return isPaymentHeld(report) && typeof expiryHeight === 'number' ? expiryHeight - holdHeights.guardBlocks : null
}

/** Whether a payment is held at or above its last height. */
export function isHeldPastLastHeight(report: Json, height: number): boolean {
  const lastHeight = readLastHeight(report)
  return lastHeight !== null && lastHeight <= height
}
