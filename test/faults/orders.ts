import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import type { Book } from './books.ts'
import type { Wait } from './waiting.ts'

/** Whom an order of a status may wait for when nothing is under way any more; a new status needs its line here. */
const mayWaitFor: Readonly<Record<OrderStatus, 'no one' | 'buyer' | 'lease' | 'is over'>> = {
  WAITING_FOR_SELLER_APPROVAL: 'no one',
  WAITING_FOR_BUYER_PAYMENT: 'buyer',
  WAITING_FOR_CHANNEL_OPEN: 'no one',
  SELLER_SENT_TRANSACTION: 'no one',
  WAITING_FOR_ON_CHAIN_CONFIRMATION: 'no one',
  ON_CHAIN_CONFIRMATION: 'no one',
  SELLER_OPENED_CHANNEL: 'no one',
  VALID_CHANNEL_OPENING: 'lease',
  CHANNEL_MONITORING_FINISHED: 'is over',
  SELLER_REJECTED: 'is over',
  SELLER_FAILED_TO_REACT: 'is over',
  BUYER_REJECTED: 'is over',
  BUYER_FAILED_TO_PAY: 'is over',
  SELLER_FAILED_TO_OPEN_CHANNEL: 'is over',
  SELLER_FAILED_TO_SEND_SWAP: 'is over',
  INVALID_CHANNEL_OPENING: 'is over',
  ADMIN_CLOSED: 'is over',
}

/** Whether something is still to be done for it: it is neither over nor a lease that runs. */
export const isOpen = ({ status }: Pick<Book, 'status'>): boolean =>
  status !== undefined && (mayWaitFor[status] === 'no one' || mayWaitFor[status] === 'buyer')

/**
 * Who asks for nothing any more is seen by nobody who looks at what is asked: an order that has not ended must be among
 * what somebody waits for. @returns a sentence for each that is lost
 */
export function orderFaults(books: readonly Book[], waits: readonly Wait[]): readonly string[] {
  const awaited = new Set(waits.flatMap(({ stream, party }) => (party === null ? [] : [stream])))
  return books.filter((book) => isLost(book, awaited)).map(({ id, status }) => `order ${id} (${status ?? 'no order'}) is lost`)
}

function isLost({ id, status, isHeld }: Book, awaited: ReadonlySet<string>): boolean {
  if (status === undefined) return true
  switch (mayWaitFor[status]) {
    case 'is over':
      return false
    case 'lease':
      return !awaited.has(`channel-${id}`)
    case 'buyer':
      return isHeld || !awaited.has(`settlement-${id}`)
    case 'no one':
      return true
  }
}
