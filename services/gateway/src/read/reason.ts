import type { Gateway } from '../ports.ts'
import type { OrderView } from '../views/order-view.ts'
import { recordText } from './accounts.ts'

/** What the seller wrote when it rejected the order, as long as it is kept; undefined where it wrote nothing. */
export const reasonGiven = (
  { records }: Pick<Gateway, 'records'>,
  { rejection }: Pick<OrderView, 'rejection'>,
): Promise<string | undefined> => recordText(records, rejection?.id ?? null, 'reason')
