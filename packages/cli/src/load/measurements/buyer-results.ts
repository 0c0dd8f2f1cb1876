import { isStatusEnded, isLoadOrderPaid, isStatusSold, type LoadOrder } from '../orders/load-order.ts'

/** The results of a run for its buyers. */
export type BuyerResults = {
  /** Orders whose channel is valid. */
  readonly sold: number
  /** Paid orders that ended without a channel. The buyer's payment was returned. */
  readonly paidUnserved: number
}

export const countBuyerResults = (orders: readonly LoadOrder[]): BuyerResults => ({
  sold: orders.filter(({ status }) => isStatusSold(status)).length,
  paidUnserved: orders.filter((order) => isLoadOrderPaid(order) && isStatusEnded(order.status) && !isStatusSold(order.status))
    .length,
})
