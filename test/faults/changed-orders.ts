import assert from 'node:assert/strict'
import type { Span } from './awake.ts'
import type { Book } from './books.ts'
import { type Change, found, type Named, type Seen, sold, unpaid, withBook } from './changed.ts'
import type { Sales } from './purchases.ts'
import { waitsOf } from './waiting.ts'

const withoutWait = (seen: Seen, stream: string): Seen => ({
  ...seen,
  waits: seen.waits.filter((wait) => wait.stream !== stream),
})

const withSales =
  (change: (sales: Sales) => Partial<Sales>): Change =>
  (seen) => ({ ...seen, sales: { ...seen.sales, ...change(seen.sales) } })

/** The longest time that the market was up: a hold whose guard had to act in the midst of it. */
const upFor = ({ awake }: Seen): Span =>
  awake.toSorted((one, other) => other.to - other.from - (one.to - one.from))[0] ?? assert.fail()
/** A hold that the node gave back by itself, `ends` being the height at which its payment would have ended. */
const givenBack = (seen: Seen, ends: number): Seen => {
  const book = found(seen.books, 'was held and released', ({ isHeld, cancelled }) => isHeld && cancelled.length > 0)
  const cancelled = book.cancelled.map((one) => ({ ...one, reason: 'node' as const }))
  return withBook(seen, book, { cancelled, heldUntil: ends })
}

/** The same under the reason that it was to go back for, since the longest time that the market was up had begun. */
const leftToItsNode = (seen: Seen): Seen => {
  const book = found(seen.books, 'was held and released', ({ isHeld, cancelled }) => isHeld && cancelled.length > 0)
  const { from, to } = upFor(seen)
  const at = (height: number): number => seen.blocks.find((block) => block.height === height)?.time ?? assert.fail()
  const cancelled = book.cancelled.map((one) => ({ ...one, reason: 'released' as const, at: at(to) }))
  return withBook(seen, book, { cancelled, askedBackAt: at(from), heldUntil: to + 12 })
}
const withIncident =
  (what: string, change: (seen: Seen) => Partial<Book> = () => ({})): Change =>
  (seen) =>
    withBook(seen, sold(seen.books), { incidents: [{ what, height: upFor(seen).to }], ...change(seen) })

/** The guard ends every hold itself. */
const ofTheGuard: readonly Named[] = [
  [
    'a hold that the guard forgot',
    (seen) => givenBack(seen, upFor(seen).from + 40),
    /the node gave its payment back by itself, and the market was up for 12 blocks/,
  ],
  [
    'a hold that the guard forgot, though it came back in time',
    (seen) => givenBack(seen, upFor(seen).from + 20),
    /the node gave its payment back by itself, and the market was up for 8 blocks/,
  ],
  [
    'a hold that the node gave back before its time',
    (seen) => givenBack(seen, seen.truth.height + 100),
    /the node gave its payment back by itself/,
  ],
  [
    'a hold that was to go back, and that nobody gave back',
    leftToItsNode,
    /was to go back from \d+ on and went back where its node does it; the market was up for \d{2,} blocks/,
  ],
  [
    'a payment that nobody took, though there was time',
    withIncident('settle-missed', (seen) => ({
      askedForAt: seen.blocks.find(({ height }) => height === upFor(seen).from)?.time,
    })),
    /"settle-missed", and the market was up for \d{2,} blocks/,
  ],
  ['an incident that nothing explains', withIncident('promise-broken'), /nothing explains its incident "promise-broken"/],
]

/** Every order ends, or waits for somebody. */
const ofOrders: readonly Named[] = [
  [
    'an order that nobody goes on with',
    (seen) => withBook(seen, unpaid(seen.books), { status: 'SELLER_SENT_TRANSACTION' }),
    /\(SELLER_SENT_TRANSACTION\) is lost/,
  ],
  [
    'an unpaid order whose invoice has expired in silence',
    (seen) => withBook(seen, unpaid(seen.books), { status: 'WAITING_FOR_BUYER_PAYMENT' }),
    /\(WAITING_FOR_BUYER_PAYMENT\) is lost/,
  ],
  [
    'a paid order that waits for its payment',
    (seen) => {
      const book = unpaid(seen.books)
      const wait = { stream: `settlement-${book.id}`, party: 'the buyer', asks: 'deadline expire' }
      const waiting = { ...seen, waits: [...seen.waits, wait] }
      return withBook(waiting, book, { status: 'WAITING_FOR_BUYER_PAYMENT', isHeld: true })
    },
    /\(WAITING_FOR_BUYER_PAYMENT\) is lost/,
  ],
  [
    'a lease that nobody watches',
    (seen) => {
      const book = sold(seen.books)
      return withBook(withoutWait(seen, `channel-${book.id}`), book, { status: 'VALID_CHANNEL_OPENING' })
    },
    /\(VALID_CHANNEL_OPENING\) is lost/,
  ],
  [
    'a lease that nobody ends',
    (seen) => {
      const { id } = sold(seen.books)
      const { height } = seen.truth
      const steps = [
        { kind: 'deadline', step: 'recheck', due: { height: height - 3 }, command: { type: 'Recheck', data: {} } },
      ] as const
      const waits = waitsOf([{ stream: `channel-${id}`, state: { status: 'LEASED' }, steps }], { at: 0, height })
      return { ...seen, waits: [...seen.waits, ...waits] }
    },
    /waits for nobody who can be named: deadline recheck/,
  ],
  ['a quote that became no order', (seen) => withBook(seen, unpaid(seen.books), { status: undefined }), /\(no order\) is lost/],
]

/** Whoever wants to buy is sold something. */
const ofSales: readonly Named[] = [
  [
    'an order that only its buyer knows',
    withSales(({ bought }) => ({ bought: [...bought, '00000000-0000-4000-8000-000000000000'] })),
    /was given order 0{8}-.*, and the market has none/,
  ],
  [
    'a round in which hardly anybody could buy',
    withSales(({ bought }) => ({ planned: 15, bought: bought.slice(0, 9) })),
    /only 9 of 15 buyers/,
  ],
  [
    'a buyer that was refused by a market which sells',
    withSales(({ planned }) => ({ planned: planned + 1, refusals: ['Error: nobody sells'] })),
    /was refused when nothing struck any more: Error: nobody sells/,
  ],
  ['a buyer that is neither sold anything nor refused', withSales(({ planned }) => ({ planned: planned + 1 })), /wanted to buy/],
  [
    'rounds in which no wallet could buy by LSPS1',
    (seen) => ({ ...seen, books: seen.books.map((book) => ({ ...book, source: 'buy' as const })) }),
    /nobody bought by LSPS1/,
  ],
  [
    'rounds in which nobody could buy by GraphQL',
    (seen) => ({ ...seen, books: seen.books.map((book) => ({ ...book, source: 'lsps1-cheapest' as const })) }),
    /nobody bought by GraphQL/,
  ],
]

/** The market's own processes and stores. */
const ofTheMarket: readonly Named[] = [
  ['a market that ends badly when it is asked to stop', (seen) => ({ ...seen, exit: 1 }), /the market ended with 1 when/],
  ['a market that has to be killed', (seen) => ({ ...seen, exit: null }), /the market ended with null when/],
  ['a message that nobody could handle', (seen) => ({ ...seen, parked: [{ key: 'order-1' }] }), /^parked: .*"order-1"/],
  [
    'a fact that was edited',
    (seen) => ({ ...seen, audited: { ...seen.audited, divergences: 1 } }),
    /the audit found \{"divergences":1/,
  ],
  [
    'postings that do not add up',
    (seen) => ({ ...seen, audited: { ...seen.audited, ledger_balanced: false } }),
    /the audit found .*"ledger_balanced":false/,
  ],
  ['a read model that stands still', (seen) => ({ ...seen, unread: ['they stand still'] }), /^they stand still$/],
  ['a row that the facts do not make', (seen) => ({ ...seen, unlike: ['a strange row'] }), /^a strange row$/],
]

/** One thing of an order, a buyer or the market is changed in a true history: what has to be said of it. */
export const orderChanges: readonly Named[] = [...ofTheGuard, ...ofOrders, ...ofSales, ...ofTheMarket]
