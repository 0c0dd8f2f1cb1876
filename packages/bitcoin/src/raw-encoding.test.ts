import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBlock, readHeader, readTransaction } from './raw-encoding.ts'
import { serialiseTransaction, transactionId } from './transaction.ts'

/** The first block of the main chain. */
const GENESIS =
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c' +
  '0101000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000'
const txid = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const script = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const transactions = fc.record({
  inputs: fc.array(fc.record({ txid, vout: fc.nat(), script, sequence: fc.nat() }), { minLength: 1, maxLength: 5 }),
  outputs: fc.array(fc.record({ valueSat: fc.bigInt(0n, 21n * 10n ** 14n), script }), { minLength: 1, maxLength: 300 }),
})

test('readBlock reads the hashes, the time and the transactions of a block', () => {
  const block = readBlock(GENESIS)
  expect(block).toMatchObject({
    hash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
    previousHash: '00'.repeat(32),
    time: 1_231_006_505,
  })
  expect(block.transactions.map((transaction) => transaction.txid)).toEqual([
    '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b',
  ])
  expect(block.transactions[0]?.outputs[0]?.valueSat).toBe(5_000_000_000n)
  expect(readHeader(GENESIS.slice(0, 160)).hash).toBe(block.hash)
})

test('readTransaction reads a serialised transaction', () => {
  fc.assert(
    fc.property(transactions, (transaction) => {
      const raw = serialiseTransaction(transaction)
      expect(readTransaction(raw)).toEqual({ ...transaction, txid: transactionId(transaction) })
    }),
    { numRuns: 50 },
  )
})

test('the id of a transaction does not cover its witnesses', () => {
  const transaction = { inputs: [{ txid: 'ab'.repeat(32), vout: 1 }], outputs: [{ valueSat: 5n, script: '51' }] }
  const raw = serialiseTransaction(transaction)
  const signed = `${raw.slice(0, 8)}0001${raw.slice(8, -8)}0202aabb01cc${raw.slice(-8)}`
  expect(readTransaction(signed).txid).toBe(transactionId(transaction))
})

test('a transaction that ends too early is refused with a RangeError', () => {
  const raw = serialiseTransaction({ inputs: [{ txid: 'ab'.repeat(32), vout: 1 }], outputs: [{ valueSat: 5n, script: '51' }] })
  for (let end = 0; end < raw.length; end += 2) expect(() => readTransaction(raw.slice(0, end))).toThrow(RangeError)
})
