import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodePaymentRequest, encodePaymentRequest, MAX_DESCRIPTION_BYTES, type Network } from './bolt11.ts'
import { pubkeyOf } from './pubkey.ts'

const secretKey = new Uint8Array(32).fill(7)
const open = {
  network: 'regtest' as Network,
  paymentHash: 'ab'.repeat(32),
  paymentSecret: 'cd'.repeat(32),
  createdAt: 1_790_000_000_000,
  expirySeconds: 3600,
  cltvDelta: 168,
  description: 'channel order',
}
const base = { ...open, amountMsat: 5_000_000n }
const hex32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))

test('what is written can be read, for every network and amount', () => {
  const request = fc.record({
    network: fc.constantFrom<Network>('mainnet', 'testnet', 'signet', 'regtest'),
    paymentHash: hex32,
    amountMsat: fc.bigInt({ min: 1n, max: 2_100_000_000_000_000n }),
    createdAt: fc.integer({ min: 1_500_000_000, max: 4_000_000_000 }).map((seconds) => seconds * 1000),
    expirySeconds: fc.integer({ min: 1, max: 10_000_000 }),
    cltvDelta: fc.integer({ min: 1, max: 2016 }),
    description: fc.string({ unit: 'grapheme', maxLength: 100 }).map((text) => text.toWellFormed()),
  })
  fc.assert(
    fc.property(request, (wanted) => {
      const { expirySeconds, ...rest } = wanted
      const text = encodePaymentRequest({ ...wanted, paymentSecret: base.paymentSecret }, secretKey)
      expect(text).toMatch({ mainnet: /^lnbc\d/, testnet: /^lntb\d/, signet: /^lntbs\d/, regtest: /^lnbcrt\d/ }[wanted.network])
      expect(decodePaymentRequest(text)).toEqual({
        ...rest,
        payee: pubkeyOf(secretKey),
        expiresAt: wanted.createdAt + expirySeconds * 1000,
        descriptionHash: undefined,
        hasPaymentSecret: true,
        routeHints: 0,
      })
    }),
    { numRuns: 60 },
  )
})

test('without an amount the payer chooses', () => {
  expect(decodePaymentRequest(encodePaymentRequest(open, secretKey))).toMatchObject({
    amountMsat: undefined,
    payee: pubkeyOf(secretKey),
  })
})

test('an example of BOLT 11 is read', () => {
  const donation =
    'lnbc1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdpl2pkx2ctnv5sxxmmwwd5kgetjypeh2ursdae8g6twvus8g6rfwvs8qun0dfjkxaq9qrsgq357wnc5r2ueh7ck6q93dj32dlqnls087fxdwk8qakdyafkq3yap9us6v52vjjsrvywa6rt52cm9r9zqt8r2t7mlcwspyetp5h2tztugp9lfyql'
  expect(decodePaymentRequest(donation)).toEqual({
    network: 'mainnet',
    paymentHash: '0001020304050607080900010203040506070809000102030405060708090102',
    amountMsat: undefined,
    payee: '03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad',
    createdAt: 1_496_314_658_000,
    expiresAt: 1_496_318_258_000,
    cltvDelta: 18,
    description: 'Please consider supporting this project',
    descriptionHash: undefined,
    hasPaymentSecret: true,
    routeHints: 0,
  })
})

test('a description has at most 639 bytes, not letters', () => {
  expect(
    decodePaymentRequest(encodePaymentRequest({ ...base, description: 'x'.repeat(MAX_DESCRIPTION_BYTES) }, secretKey))
      ?.description,
  ).toHaveLength(639)
  expect(() => encodePaymentRequest({ ...base, description: 'ä'.repeat(320) }, secretKey)).toThrow(RangeError)
  expect(() => encodePaymentRequest({ ...base, amountMsat: 0n }, secretKey)).toThrow(RangeError)
})

test.each([
  { expirySeconds: 0 },
  { expirySeconds: -1 },
  { expirySeconds: 1.5 },
  { cltvDelta: 0 },
  { cltvDelta: Number.NaN },
  { createdAt: 0 },
  { createdAt: -1 },
  { createdAt: Number.POSITIVE_INFINITY },
])('what has no form is refused: %o', (change) => {
  expect(() => encodePaymentRequest({ ...base, ...change }, secretKey)).toThrow(RangeError)
})

test('rubbish and tampered requests are nothing', () => {
  const text = encodePaymentRequest(base, secretKey)
  for (const bad of [
    '',
    'lnbc',
    'hello',
    text.slice(0, -1),
    `${text}q`,
    text.replace('lnbcrt50u', 'lnbcrt60u'),
    text.replace('lnbcrt', 'lnbc'),
    'x'.repeat(10_000),
  ])
    expect(decodePaymentRequest(bad)).toBeUndefined()
  expect(decodePaymentRequest(text.toUpperCase())?.paymentHash).toBe(base.paymentHash)
  fc.assert(fc.property(fc.string({ maxLength: 200 }), (junk) => decodePaymentRequest(`lnbcrt${junk}`) === undefined))
})
