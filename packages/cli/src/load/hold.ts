import type { Json } from '../json.ts'
import { at, wordAt } from './market.ts'

/** The market settles or gives back every payment so many blocks before its HTLCs run out; its node's own line comes later. */
const GUARD_BLOCKS = 24

const HOLDING = new Set(['held', 'settling', 'cancelling'])

/** @param report what the operator sees of an order */
export const isHolding = (report: Json): boolean => HOLDING.has(wordAt(report, 'hold.status'))

/** @returns the height at which the order's payment is settled or given back; null where none is held */
export function lastHeightOf(report: Json): number | null {
  const expiryHeight = at(report, 'hold.expiry_height')
  return isHolding(report) && typeof expiryHeight === 'number' ? expiryHeight - GUARD_BLOCKS : null
}

/** Whether a payment is locked although its height has come. */
export function isHeldLate(report: Json, height: number): boolean {
  const lastHeight = lastHeightOf(report)
  return lastHeight !== null && lastHeight <= height
}
