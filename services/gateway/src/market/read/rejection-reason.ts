import type { Gateway } from '../../ports.ts'
import type { OrderView } from '../views/order-view.ts'
import { readRecordText } from '../../read-record-text.ts'

/** Reads the seller's text for its rejection; undefined if the seller wrote none or the text was deleted. */
export const readRejectionReason = (
  { records }: Pick<Gateway, 'records'>,
  { rejection }: Pick<OrderView, 'rejection'>,
): Promise<string | undefined> => readRecordText(records, rejection?.id ?? null, 'reason')
