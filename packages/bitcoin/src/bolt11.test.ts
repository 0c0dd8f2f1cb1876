import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodePaymentRequest, encodePaymentRequest, MAX_DESCRIPTION_BYTES, type BitcoinNetwork } from './bolt11.ts'
import { derivePubkey } from './pubkey.ts'

const secretKey = new Uint8Array(32).fill(7)
const open = {
  network: 'regtest' as BitcoinNetwork,
  paymentHash: 'ab'.repeat(32),
  paymentSecret: 'cd'.repeat(32),
  createdAt: 1_790_000_000_000,
  expirySeconds: 3600,
  cltvDelta: 168,
  description: 'channel order',
}
const base = { ...open, amountMsat: 5_000_000n }
const hex32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))

test('an encoded payment request decodes to the same values, for every network and amount', () => {
  const request = fc.record({
    network: fc.constantFrom<BitcoinNetwork>('mainnet', 'testnet', 'signet', 'regtest'),
    paymentHash: hex32,
    amountMsat: fc.bigInt({ min: 1n, max: 2_100_000_000_000_000n }),
    createdAt: fc.integer({ min: 1_500_000_000, max: 4_000_000_000 }).map((seconds) => seconds * 1000),
    expirySeconds: fc.integer({ min: 1, max: 10_000_000 }),
    cltvDelta: fc.integer({ min: 1, max: 2016 }),
    description: fc.string({ unit: 'grapheme', maxLength: 100 }).map((text) => text.toWellFormed()),
  })
  fc.assert(
    fc.property(request, (fields) => {
      const { expirySeconds, ...rest } = fields
      const text = encodePaymentRequest({ ...fields, paymentSecret: base.paymentSecret }, secretKey)
      expect(text).toMatch({ mainnet: /^lnbc\d/, testnet: /^lntb\d/, signet: /^lntbs\d/, regtest: /^lnbcrt\d/ }[fields.network])
      expect(decodePaymentRequest(text)).toEqual({
        ...rest,
        payee: derivePubkey(secretKey),
        expiresAt: fields.createdAt + expirySeconds * 1000,
        descriptionHash: undefined,
        hasPaymentSecret: true,
        routeHints: 0,
      })
    }),
    { numRuns: 60 },
  )
})

test('a payment request without an amount decodes without an amount', () => {
  expect(decodePaymentRequest(encodePaymentRequest(open, secretKey))).toMatchObject({
    amountMsat: undefined,
    payee: derivePubkey(secretKey),
  })
})

test('an example of BOLT 11 decodes', () => {
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

test('the limit of a description is 639 bytes, not characters', () => {
  expect(
    decodePaymentRequest(encodePaymentRequest({ ...base, description: 'x'.repeat(MAX_DESCRIPTION_BYTES) }, secretKey))
      ?.description,
  ).toHaveLength(639)
  expect(() => encodePaymentRequest({ ...base, description: 'ä'.repeat(320) }, secretKey)).toThrow(RangeError)
  expect(() => encodePaymentRequest({ ...base, amountMsat: 0n }, secretKey)).toThrow(RangeError)
})

test('a description hash takes the place of the description', () => {
  const descriptionHash = 'ef'.repeat(32)
  const text = encodePaymentRequest({ ...base, description: 'ä'.repeat(320), descriptionHash }, secretKey)
  expect(decodePaymentRequest(text)).toMatchObject({ description: undefined, descriptionHash })
  expect(() => encodePaymentRequest({ ...base, descriptionHash: 'ef' }, secretKey)).toThrow(RangeError)
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
])('a field that BOLT 11 cannot express is refused: %o', (change) => {
  expect(() => encodePaymentRequest({ ...base, ...change }, secretKey)).toThrow(RangeError)
})

test('malformed and tampered requests decode to undefined', () => {
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
