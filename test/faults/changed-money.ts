import assert from 'node:assert/strict'
import {
  gainOf,
  type Named,
  payoutOf,
  sold,
  unpaid,
  withBook,
  withChannel,
  withEntries,
  withInvoice,
  withPayments,
  withPayout,
  withSold,
  withTruth,
  type Seen,
} from './changed.ts'
import type { Htlc, Payment } from './truth.ts'

const FAR_HEIGHT = 9_999_999n
const NOBODY = `02${'ee'.repeat(32)}`

const less = ({ amount_msat }: Payment): Partial<Payment> => ({ amount_msat: amount_msat - 1n })
const withHeld = (seen: Seen, change: Partial<Htlc>): Seen => {
  const htlc = { payment_hash: 'ee'.repeat(32), receiver: seen.truth.market, expiry_height: FAR_HEIGHT, is_last: 1n, ...change }
  return withTruth(seen, { held: [htlc] })
}

/** The channel is there as it was sold. */
const ofChannels: readonly Named[] = [
  ['a channel that is not there', (seen) => withTruth(seen, { channels: new Map() }), /the network has no channel/],
  ['a channel to somebody else', withChannel(() => ({ b: NOBODY })), /not to the buyer/],
  ['a channel that somebody else opened', withChannel(() => ({ a: NOBODY })), /its channel was opened by 02eeee/],
  ['a channel that is too small', withChannel(({ sizeSat }) => ({ capacity_sat: sizeSat - 1n })), /its channel has \d+ sat, not/],
  [
    'a channel that is public where it was sold as private, or the other way round',
    withChannel(({ isPrivate }) => ({ is_private: isPrivate ? 0n : 1n })),
    /not as private or public as it was sold/,
  ],
  ['a channel that no block has', withChannel(() => ({ funding_height: null })), /its channel is published and unconfirmed/],
  ['a channel that its seller has withdrawn', withChannel(() => ({ state: 'abandoned' })), /its channel is abandoned/],
  [
    'a channel that was proven instead of the one that was noted',
    withSold(({ noted }) => ({ noted: noted && { ...noted, outpoint: `${'ee'.repeat(32)}:0` } })),
    /eeee:0 was noted last, \w+:\d+ was proven/,
  ],
  [
    'a channel that was sold twice',
    (seen) => {
      const [one, other] = seen.books.filter(({ settled, proven }) => settled.length > 0 && proven.length > 0)
      assert.ok(one && other)
      return withBook(seen, other, { proven: one.proven })
    },
    /^\w+:\d+ was sold twice/,
  ],
]

/** The buyer's money was taken once, for what was proven, and for nothing else. */
const ofHolds: readonly Named[] = [
  ['a hold that was settled without a proof', withSold(() => ({ proven: [] })), /settled without a proof/],
  [
    'a hold that was settled twice',
    withSold(({ settled }) => ({ settled: [...settled, ...settled] })),
    /its hold was settled twice/,
  ],
  [
    'a hold that was settled and cancelled',
    withSold(() => ({ cancelled: [{ at: 0, reason: 'node', verdict: null, sentence: 'x' }] })),
    /settled and cancelled/,
  ],
  ['an order that was sold and not settled', withSold(() => ({ settled: [] })), /sold, and not settled/],
  [
    'an order that was settled and not sold',
    withSold(() => ({ status: 'INVALID_CHANNEL_OPENING' })),
    /\(INVALID_CHANNEL_OPENING\): settled, and not sold/,
  ],
  ['a payment that no fact knows of', withSold(() => ({ settled: [] })), /the buyer has paid, and no fact says so/],
  [
    'a payment that no fact knows of, by the balance',
    withSold(() => ({ settled: [] })),
    /buyer(?:-2)? has \d+ msat, and should have \d+/,
  ],
  [
    'a hold that the node has cancelled, and the market calls settled',
    (seen) => withInvoice(seen, sold(seen.books).hashes[0] ?? '', { state: 'cancelled' }),
    /settled by the facts; the node shows its invoice cancelled/,
  ],
  [
    'a hold that was settled for nobody',
    (seen) => {
      const books = seen.books.filter(({ settled }) => settled.length === 0)
      return { ...seen, books, gainedMsat: gainOf(books) }
    },
    /the market's node settled \w+, and no order says so/,
  ],
  [
    'a payment that was not as large as the market says',
    withSold(({ settled }) => ({
      settled: settled.map((one) => ({ ...one, receivedMsat: `${BigInt(one.receivedMsat) + 1n}` })),
    })),
    /\d+ msat by the facts, \d+ by the network/,
  ],
  [
    'a buyer that paid too little, as the market was content with',
    (seen) => {
      const book = sold(seen.books)
      const settled = book.settled.map((one) => ({ ...one, receivedMsat: `${book.priceMsat - 1n}` }))
      const change = { invoicedMsat: book.priceMsat - 1n, settled }
      return withBook(withPayments(seen, book.hashes, less), book, change)
    },
    /less than its price/,
  ],
  [
    'an invoice over another amount than the price',
    (seen) => withBook(seen, sold(seen.books), { invoicedMsat: 1n }),
    /its invoice was over 1 msat/,
  ],
]

/** The seller was paid what it was promised, once, and nobody else was. */
const ofPayouts: readonly Named[] = [
  ['a seller that was paid too little', withPayout(less), /its payout was \d+ msat; promised/],
  [
    'a seller that was paid too little, as the market had reckoned',
    (seen) => {
      const { noted } = sold(seen.books)
      const reckoned = noted && { ...noted, sellerAmountMsat: `${BigInt(noted.sellerAmountMsat) - 1n}` }
      return withSold(() => ({ noted: reckoned }))(withPayout(less)(seen))
    },
    /its payout was \d+ msat; promised/,
  ],
  [
    'a seller that was paid too much',
    withPayout(({ amount_msat }) => ({ amount_msat: amount_msat + 1n })),
    /its payout was \d+ msat; promised/,
  ],
  ['a payout that went to somebody else', withPayout(() => ({ payee: NOBODY })), /its payout went to 02eeee/],
  ['a payout that has failed', withPayout(() => ({ state: 'failed' })), /its payout is failed at our node/],
  [
    'a payout that its seller never got',
    (seen) => withInvoice(seen, payoutOf(sold(seen.books)), { state: 'open' }),
    /0 payout invoices are paid at the sellers, not 1/,
  ],
  [
    'a seller that was paid for nothing',
    (seen) => withBook(seen, unpaid(seen.books), { offered: sold(seen.books).offered }),
    /1 payout invoices are paid at the sellers, not 0/,
  ],
  ['a payout that the market has not written down', withSold(() => ({ paid: [] })), /0 payouts by the facts, not 1/],
  [
    'a payout that was written down twice',
    withSold(({ paid }) => ({ paid: [...paid, ...paid] })),
    /2 payouts by the facts, not 1/,
  ],
  [
    'a seller that was paid twice',
    (seen) => {
      const hash = payoutOf(sold(seen.books))
      const again = seen.truth.payments.find((one) => one.payment_hash === hash && one.payer === seen.truth.market)
      assert.ok(again)
      return withTruth(seen, { payments: [...seen.truth.payments, { ...again, payment_hash: 'ff'.repeat(32) }] })
    },
    /the market paid f{64} to \w+, and no order says so/,
  ],
  [
    'a payout that cost more on its way than the market says',
    withPayout(({ fee_msat }) => ({ fee_msat: fee_msat + 1n })),
    /its payout cost \d+ msat on its way, \d+ by the facts/,
  ],
  [
    'a seller that was paid what is owed to its buyer',
    withSold(() => ({ closed: [{ height: 1, reason: 'x' }] })),
    /its payout went to the seller, and was owed to the buyer/,
  ],
  [
    'a payable that was closed twice',
    withSold(() => ({ closed: [1, 2].map((height) => ({ height, reason: 'x' })) })),
    /its payable was closed twice/,
  ],
]

/** The ledger says what the nodes have. */
const ofBooks: readonly Named[] = [
  ['a ledger that is off by a millisatoshi', withEntries({ rounding: 1 }), /the ledger is off by 1 msat/],
  ['a seller that is still owed a millisatoshi', withEntries({ payable: -1, rounding: 1 }), /sellers are still owed 1 msat/],
  [
    'a buyer that is still owed a millisatoshi',
    withEntries({ 'owed-to-buyer': -1, rounding: 1 }),
    /buyers are still owed 1 msat/,
  ],
  [
    'payouts that cost another millisatoshi by the ledger',
    withEntries({ 'routing-cost': 1, rounding: -1 }),
    /payouts cost \d+ msat, by the ledger \d+/,
  ],
  [
    'a millisatoshi that is missing',
    (seen) => ({ ...seen, gainedMsat: seen.gainedMsat - 1n }),
    /gained \d+ msat, and its ledger says/,
  ],
  ...['buyer', 'seller', 'market'].map((who): Named => [
    `a ${who} with a millisatoshi more than the facts explain`,
    (seen) => {
      const [alias, msat] = [...seen.balances].find(([name]) => name.startsWith(who)) ?? assert.fail()
      return { ...seen, balances: new Map([...seen.balances, [alias, msat + 1n]]) }
    },
    /\w has \d+ msat, and should have \d+/,
  ]),
]

/** Nothing hangs any more. */
const ofHanging: readonly Named[] = [
  [
    'a payment that still hangs',
    (seen) => withHeld(seen, { payment_hash: sold(seen.books).hashes[0] ?? '', is_last: 0n }),
    /still hangs, and its order has ended/,
  ],
  ['a payment that hangs, and that no fact knows of', (seen) => withHeld(seen, {}), /hangs at the market/],
  [
    'a payment that is held beyond its last height',
    (seen) => withHeld(seen, { expiry_height: BigInt(seen.truth.height + 1) }),
    /is held at height \d+, and ends at/,
  ],
]

/** One thing of the money is changed in a true history: what has to be said of it. */
export const moneyChanges: readonly Named[] = [...ofChannels, ...ofHolds, ...ofPayouts, ...ofBooks, ...ofHanging]
