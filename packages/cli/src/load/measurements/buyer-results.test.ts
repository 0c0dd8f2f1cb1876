import { expect, test } from 'vitest'
import type { LoadOrder } from '../orders/load-order.ts'
import { countBuyerResults } from './buyer-results.ts'

const paid = { hash: 'ab', amountMsat: 5_000_000n }
const order = (status: string, overrides: Partial<LoadOrder> = {}): LoadOrder => ({
  id: status,
  kind: 'buy',
  bearer: null,
  lspType: null,
  invoice: null,
  status,
  timeout: null,
  stage: 'ordered',
  paid: null,
  isPaymentUncertain: false,
  ...overrides,
})

test('countBuyerResults counts sold orders, and paid orders that ended without a channel', () => {
  const orders = [
    order('VALID_CHANNEL_OPENING', { paid }),
    order('COMPLETED PAID'),
    order('SELLER_FAILED_TO_OPEN_CHANNEL', { paid }),
    order('FAILED REFUNDED', { paid }),
    // The next two orders are unpaid, and the last order is unfinished.
    order('BUYER_FAILED_TO_PAY'),
    order('FAILED REFUNDED'),
    order('ON_CHAIN_CONFIRMATION', { paid }),
  ]
  expect(countBuyerResults(orders)).toEqual({ sold: 2, paidUnserved: 2 })
})
