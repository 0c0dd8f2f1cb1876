import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { orderLifecycle } from '@penstock/order/order.ts'
import { scratch } from '../harness/product.ts'
import { guardFaults, type Span } from './awake.ts'
import { type Balances, balanceFaults, type Wealth, wealthOf } from './balances.ts'
import { type Book, booksOf } from './books.ts'
import { campaign, type RoundReport } from './campaign.ts'
import { type Fold, openFold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { orderFaults } from './orders.ts'
import { doorFaults, purchaseFaults, refusalFaults } from './purchases.ts'
import { foldedFaults, uncompared, unreadFaults } from './read-models.ts'
import { lacking } from './struck.ts'
import { type Htlc, type Truth, truthOf } from './truth.ts'
import { unnamed, type Wait, waitsOf } from './waiting.ts'

const ROUNDS = 8
const FAR_HEIGHT = 9_999_999n
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
const reports: RoundReport[] = []
let clean = false

afterAll(() => {
  if (clean) rmSync(dataDir, { recursive: true, force: true })
})

test(`${ROUNDS} rounds of orders under kill -9, bad sellers and re-orgs leave nothing undone`, { timeout: 480_000 }, async () => {
  console.log(`seed ${seed}; again: npm run faults -- --rounds ${ROUNDS} --seed ${seed}`)
  for await (const report of campaign(dataDir, seed, ROUNDS)) {
    const { faults, statuses, struck, seconds } = report
    reports.push(report)
    expect(faults, `round ${reports.length} of seed ${seed}; the data stays in ${dataDir}`).toEqual([])
    console.log(`round ${reports.length}: ${seconds.toFixed(1)} s, ${JSON.stringify(struck)}, ${JSON.stringify(statuses)}`)
  }
  expect(reports).toHaveLength(ROUNDS)
  expect(lacking(reports)).toEqual([])
  clean = true
})

/** What a look has before it; the round's buyers are those whose orders are kept. */
type Seen = {
  readonly truth: Truth
  readonly books: readonly Book[]
  readonly gainedMsat: bigint
  readonly wealth: readonly Wealth[]
  readonly balances: Balances
  readonly waits: readonly Wait[]
  readonly planned: number
  readonly bought: readonly string[]
  readonly refusals: readonly string[]
  readonly awake: readonly Span[]
}

const faultsIn = (seen: Seen): readonly string[] => {
  const { truth, books, gainedMsat, wealth, balances, waits, planned, bought, refusals, awake } = seen
  return [
    ...unnamed(waits),
    ...orderFaults(books, waits),
    ...moneyFaults(books, truth, gainedMsat),
    ...guardFaults(books, truth, awake),
    ...balanceFaults(books, truth.payments, wealth, balances),
    ...purchaseFaults(planned, bought, books),
    ...refusalFaults(planned, bought, refusals),
    ...doorFaults(ROUNDS, books),
  ]
}

const gainOf = (books: readonly Book[]): bigint =>
  books
    .flatMap(({ entries }) => entries)
    .filter(({ account }) => account === 'received' || account === 'paid-out')
    .reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)

function seenIn(fold: Fold): Seen {
  const books = booksOf(fold.events)
  // Each round has judged how late it was; since then the market stands still, and nothing of it is late.
  const waits = waitsOf(fold.asking(), { at: 0, height: 0 })
  const bought = books.map(({ id }) => id)
  const wealth = wealthOf(dataDir)
  const balances = reports.at(-1)?.balances ?? new Map<string, bigint>()
  const truth = truthOf(dataDir)
  const awake = reports.at(-1)?.awake ?? []
  const planned = bought.length
  return { truth, books, gainedMsat: gainOf(books), wealth, balances, waits, planned, bought, refusals: [], awake }
}

const found = (books: readonly Book[], what: string, is: (book: Book) => boolean): Book => {
  const book = books.find(is)
  assert.ok(book, `no order ${what} in all rounds`)
  return book
}
const sold = (books: readonly Book[]): Book =>
  found(books, 'was sold', ({ settled, proven }) => settled.length > 0 && proven.at(-1)?.peer !== null)
const unpaid = (books: readonly Book[]): Book =>
  found(books, 'stayed unpaid', ({ status, isHeld }) => status === 'BUYER_FAILED_TO_PAY' && !isHeld)

const withBook = (seen: Seen, book: Book, change: Partial<Book>): Seen => {
  const books = seen.books.map((one) => (one.id === book.id ? { ...one, ...change } : one))
  return { ...seen, books, gainedMsat: gainOf(books) }
}
const withTruth = (seen: Seen, change: Partial<Truth>): Seen => ({ ...seen, truth: { ...seen.truth, ...change } })
const withChannel = (seen: Seen, change: (book: Book) => object): Seen => {
  const book = sold(seen.books)
  const outpoint = book.proven.at(-1)?.outpoint ?? ''
  const channel = seen.truth.channels.get(outpoint)
  assert.ok(channel)
  return withTruth(seen, { channels: new Map([...seen.truth.channels, [outpoint, { ...channel, ...change(book) }]]) })
}
const withLess = (seen: Seen, hashes: readonly string[]): Seen =>
  withTruth(seen, {
    payments: seen.truth.payments.map((one) =>
      hashes.includes(one.payment_hash) ? { ...one, amount_msat: one.amount_msat - 1n } : one,
    ),
  })
const withHeld = (seen: Seen, change: Partial<Htlc>): Seen => {
  const htlc = { payment_hash: 'ee'.repeat(32), receiver: seen.truth.market, expiry_height: FAR_HEIGHT, is_last: 1n, ...change }
  return withTruth(seen, { held: [htlc] })
}
const payoutOf = ({ paid }: Book): readonly string[] => paid.map(({ paymentHash }) => paymentHash)
const withoutWait = (seen: Seen, stream: string): Seen => ({
  ...seen,
  waits: seen.waits.filter((wait) => wait.stream !== stream),
})

/** The longest time that the market was up: a hold whose guard had to act in the midst of it. */
const upFor = ({ awake }: Seen): Span =>
  awake.toSorted((one, other) => other.to - other.from - (one.to - one.from))[0] ?? assert.fail()
/** A hold that the node gave back by itself, `ends` being the height at which its payment would have ended. */
const givenBack = (seen: Seen, ends: number): Seen => {
  const book = found(seen.books, 'was held and released', ({ isHeld, cancelled }) => isHeld && cancelled.length > 0)
  const cancelled = book.cancelled.map((one) => ({ ...one, reason: 'node' as const }))
  return withBook(seen, book, { cancelled, heldUntil: ends })
}

type Change = (seen: Seen) => Seen
/** What is changed, how, and what has to be said of it. */
type Named = readonly [string, Change, RegExp]
const changes: readonly Named[] = [
  ['a channel that is not there', (seen) => withTruth(seen, { channels: new Map() }), /the network has no channel/],
  [
    'a channel to somebody else',
    (seen) => withChannel(seen, ({ noted }) => ({ b: noted?.terms.sellerPubkey })),
    /not to the buyer/,
  ],
  [
    'a channel that is too small',
    (seen) => withChannel(seen, ({ sizeSat }) => ({ capacity_sat: sizeSat - 1n })),
    /its channel has \d+ sat, not/,
  ],
  [
    'a hold that was settled for nobody',
    (seen) => {
      const books = seen.books.slice(1).filter(({ settled }) => settled.length === 0)
      return { ...seen, books, gainedMsat: gainOf(books) }
    },
    /and no order says so/,
  ],
  ['a seller that was paid too little', (seen) => withLess(seen, payoutOf(sold(seen.books))), /its payout was/],
  [
    'a seller that was paid too little, as the market had reckoned',
    (seen) => {
      const book = sold(seen.books)
      const noted = book.noted && { ...book.noted, sellerAmountMsat: `${BigInt(book.noted.sellerAmountMsat) - 1n}` }
      return withBook(withLess(seen, payoutOf(book)), book, { noted })
    },
    /its payout was/,
  ],
  [
    'a buyer that paid too little, as the market was content with',
    (seen) => {
      const book = sold(seen.books)
      const settled = book.settled.map((one) => ({ ...one, receivedMsat: `${book.priceMsat - 1n}` }))
      const change = { invoicedMsat: book.priceMsat - 1n, settled }
      return withBook(withLess(seen, book.hashes), book, change)
    },
    /less than its price/,
  ],
  [
    'an invoice over another amount than the price',
    (seen) => withBook(seen, sold(seen.books), { invoicedMsat: 1n }),
    /its invoice was over 1 msat/,
  ],
  [
    'a seller that was paid twice',
    (seen) => {
      const [hash] = payoutOf(sold(seen.books))
      const again = seen.truth.payments.find((one) => one.payment_hash === hash && one.payer === seen.truth.market)
      assert.ok(again)
      return withTruth(seen, { payments: [...seen.truth.payments, { ...again, payment_hash: 'ff'.repeat(32) }] })
    },
    /and no order says so/,
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
  [
    'a payment that was made and that no fact knows of',
    (seen) => withBook(seen, sold(seen.books), { settled: [] }),
    /buyer(?:-2)? has \d+ msat, and should have \d+/,
  ],
  [
    'a payment that still hangs',
    (seen) => withHeld(seen, { payment_hash: sold(seen.books).hashes[0] ?? '', is_last: 0n }),
    /still hangs, and its order has ended/,
  ],
  ['a payment that no fact knows of', (seen) => withHeld(seen, {}), /hangs at the market/],
  [
    'a payment that is held beyond its last height',
    (seen) => withHeld(seen, { expiry_height: BigInt(seen.truth.height + 1) }),
    /is held at height \d+, and ends at/,
  ],
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
  [
    'an order that only its buyer knows',
    (seen) => ({ ...seen, bought: [...seen.bought, '00000000-0000-4000-8000-000000000000'] }),
    /was given order 0{8}-.*, and the market has none/,
  ],
  [
    'a round in which hardly anybody could buy',
    (seen) => ({ ...seen, planned: 15, bought: seen.bought.slice(0, 9) }),
    /only 9 of 15 buyers/,
  ],
  [
    'a buyer that was refused by a market which sells',
    (seen) => ({ ...seen, planned: seen.planned + 1, refusals: ['Error: nobody sells'] }),
    /was refused when nothing struck any more: Error: nobody sells/,
  ],
  ['a buyer that is neither sold anything nor refused', (seen) => ({ ...seen, planned: seen.planned + 1 }), /wanted to buy/],
  [
    'rounds in which no wallet could buy by LSPS1',
    (seen) => ({ ...seen, books: seen.books.map((book) => ({ ...book, source: 'buy' as const })) }),
    /nobody bought by LSPS1/,
  ],
]

/** The same data with one thing changed has to be noticed, or the rounds above prove nothing. */
describe('what the look in the end notices', () => {
  const read = async <T>(look: (fold: Fold) => T | Promise<T>): Promise<T> => {
    const fold = openFold(dataDir)
    try {
      await fold.catchUp()
      return await look(fold)
    } finally {
      await fold.close()
    }
  }

  test.each(changes)('%s', (_, change, sentence) =>
    read((fold) => {
      const seen = seenIn(fold)
      expect(faultsIn(seen)).toEqual([])
      expect(faultsIn(change(seen))).toContainEqual(expect.stringMatching(sentence))
    }),
  )

  test('every status of an order, unless it is over or somebody may be waited for', () =>
    read((fold) => {
      const { books } = seenIn(fold)
      const book = unpaid(books)
      const { edges } = orderLifecycle
      const statuses = new Set(edges.map(([, , to]) => to))
      const everybody = ['settlement', 'channel'].map((category) => ({
        stream: `${category}-${book.id}`,
        party: 'somebody',
        asks: 'it',
      }))
      const lost = (status: string, waits: readonly Wait[]): boolean =>
        orderFaults([{ ...book, status: status as OrderStatus }], waits).length > 0 // the machine's names are the read model's
      const isOver = (status: string): boolean => edges.every(([from, , to]) => from !== status || to === status)
      // An order that is sold is followed to the end of its lease.
      for (const status of statuses) expect([status, lost(status, [])]).toEqual([status, !isOver(status)])
      const waiting = [...statuses].filter((status) => !isOver(status) && !lost(status, everybody))
      expect(waiting.toSorted()).toEqual(['VALID_CHANNEL_OPENING', 'WAITING_FOR_BUYER_PAYMENT'])
    }))

  test('a table that no projection names', () => {
    expect(uncompared(['gateway_orders', 'gateway_news', 'gateway_commands'], ['gateway_orders'])).toEqual([
      expect.stringMatching(/makes gateway_news/),
    ])
  })

  /** In a copy, one of each kind stands where it stood when half of the rounds were over. */
  test.each([
    ['orders', 2],
    ['market', 1],
    ['accounts', 1],
  ] as const)('read models of %s that stand still', (name, version) =>
    read(async ({ events }) => {
      // What came in the market's last moments it may have left to its next start.
      const all = events.slice(0, Math.floor(events.length * 0.99))
      expect(await unreadFaults(dataDir, all)).toEqual([])
      const copy = scratch()
      for (const file of ['views.db', 'views.db-wal'].filter((one) => existsSync(join(dataDir, one))))
        cpSync(join(dataDir, file), join(copy, file))
      const views = new DatabaseSync(join(copy, 'views.db'))
      const consumer = `gateway.${name}.v${version}`
      const half = Number(all[Math.floor(all.length / 2)]?.position)
      views.prepare('UPDATE progress SET position = ? WHERE consumer LIKE ?').run(half, `${consumer}@%`)
      views.prepare('DELETE FROM progress_streams WHERE consumer = ? AND position > ?').run(consumer, half)
      views.close()
      expect(await unreadFaults(copy, all)).toEqual([expect.stringMatching(`the gateway's ${name} have not read \\d+ facts`)])
    }),
  )

  test('a row that the facts do not make', () =>
    read(async ({ events }) => {
      expect(await foldedFaults(dataDir, events)).toEqual([])
      const views = new DatabaseSync(join(dataDir, 'views.db'))
      const [last] = views.prepare('SELECT id FROM gateway_orders_v2 ORDER BY id DESC LIMIT 1').all()
      views.prepare('UPDATE gateway_orders_v2 SET open = 1 - open WHERE id = ?').run(last?.['id'] ?? '')
      views.close()
      expect(await foldedFaults(dataDir, events)).toHaveLength(2)
    }))
})
