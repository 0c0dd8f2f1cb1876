import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { type Book, booksOf } from './books.ts'
import { campaign } from './campaign.ts'
import { type Fold, openFold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { readModelFaults } from './read-models.ts'
import { type Truth, truthOf } from './truth.ts'

const ROUNDS = 8
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
let clean = false

afterAll(() => {
  if (clean) rmSync(dataDir, { recursive: true, force: true })
})

test(`${ROUNDS} rounds of orders under kill -9, bad sellers and re-orgs leave nothing undone`, { timeout: 480_000 }, async () => {
  console.log(`seed ${seed}; again: npm run faults -- --rounds ${ROUNDS} --seed ${seed}`)
  let rounds = 0
  for await (const { faults, statuses, kills, seconds } of campaign(dataDir, seed, ROUNDS)) {
    rounds += 1
    expect(faults, `round ${rounds} of seed ${seed}; the data stays in ${dataDir}`).toEqual([])
    console.log(`round ${rounds}: ${kills} kills, ${seconds.toFixed(1)} s, ${JSON.stringify(statuses)}`)
  }
  expect(rounds).toBe(ROUNDS)
  clean = true
})

/** The same data with one thing changed has to be noticed, or the rounds above prove nothing. */
describe('what the look in the end notices', () => {
  const gainedMsat = (books: readonly Book[]): bigint =>
    books
      .flatMap(({ entries }) => entries)
      .filter(({ account }) => account === 'received' || account === 'paid-out')
      .reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)
  const sold = (books: readonly Book[]): Book => {
    const found = books.find(({ settled, proven }) => settled.length > 0 && proven.at(-1)?.peer !== null)
    assert.ok(found, 'nothing was sold in all rounds')
    return found
  }
  const read = async <T>(look: (fold: Fold) => T | Promise<T>): Promise<T> => {
    const fold = openFold(dataDir)
    try {
      await fold.catchUp()
      return await look(fold)
    } finally {
      await fold.close()
    }
  }
  const withChannel = (truth: Truth, book: Book, change: object): Truth => {
    const outpoint = book.proven.at(-1)?.outpoint ?? ''
    const channel = truth.channels.get(outpoint)
    assert.ok(channel)
    return { ...truth, channels: new Map([...truth.channels, [outpoint, { ...channel, ...change }]]) }
  }
  const paidTo = ({ noted }: Book, truth: Truth) => truth.payments.findIndex(({ payee }) => payee === noted?.terms.sellerPubkey)

  type Change = (truth: Truth, book: Book, books: readonly Book[]) => { truth?: Truth; books?: readonly Book[]; gained?: bigint }
  const changes: readonly (readonly [string, Change])[] = [
    ['a channel that is not there', (truth) => ({ truth: { ...truth, channels: new Map() } })],
    ['a channel to somebody else', (truth, book) => ({ truth: withChannel(truth, book, { b: book.noted?.terms.sellerPubkey }) })],
    ['a channel that is too small', (truth, book) => ({ truth: withChannel(truth, book, { capacity_sat: book.sizeSat - 1n }) })],
    [
      'a hold that was settled for nobody',
      (truth, _, books) => ({ truth, books: books.slice(1).filter(({ settled }) => settled.length === 0) }),
    ],
    [
      'a seller that was paid too little',
      (truth, book) => ({
        truth: {
          ...truth,
          payments: truth.payments.map((one, at) =>
            at === paidTo(book, truth) ? { ...one, amount_msat: one.amount_msat - 1n } : one,
          ),
        },
      }),
    ],
    [
      'a seller that was paid twice',
      (truth, book) => ({
        truth: {
          ...truth,
          payments: [...truth.payments, { ...truth.payments[paidTo(book, truth)]!, payment_hash: 'ff'.repeat(32) }],
        },
      }),
    ],
    ['a millisatoshi that is missing', (_, __, books) => ({ gained: gainedMsat(books) - 1n })],
    [
      'a payment that still hangs',
      (truth, book) => ({
        truth: {
          ...truth,
          held: [{ payment_hash: book.hashes[0] ?? '', receiver: truth.market, expiry_height: 9_999_999n, is_last: 1n }],
        },
      }),
    ],
  ]
  test.each(changes)('%s', (_, change) =>
    read(({ events }) => {
      const [books, truth] = [booksOf(events), truthOf(dataDir)]
      expect(moneyFaults(books, truth, gainedMsat(books))).toEqual([])
      const changed = change(truth, sold(books), books)
      const facts = changed.books ?? books
      expect(moneyFaults(facts, changed.truth ?? truth, changed.gained ?? gainedMsat(facts))).not.toEqual([])
    }),
  )

  test('a row that the facts do not make', () =>
    read(async ({ events }) => {
      expect(await readModelFaults(dataDir, events)).toEqual([])
      const views = new DatabaseSync(join(dataDir, 'views.db'))
      const [last] = views.prepare('SELECT id FROM gateway_orders ORDER BY id DESC LIMIT 1').all()
      views.prepare('UPDATE gateway_orders SET open = 1 - open WHERE id = ?').run(last?.['id'] ?? '')
      views.close()
      expect(await readModelFaults(dataDir, events)).toHaveLength(2)
    }))
})
