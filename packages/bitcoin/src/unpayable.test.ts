import { expect, test } from 'vitest'
import { decodePaymentRequest, encodePaymentRequest, explainUnpayable } from './bolt11.ts'

/** An example of BOLT 11 from before payment secrets. */
const WITHOUT_SECRET =
  'lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpuaztrnwngzn3kdzw5hydlzf03qdgm2hdq27cqv3agm2awhz5se903vruatfhq77w3ls4evs3ch9zw97j25emudupq63nyw24cg27h2rspfj9srp'

const decodedWith = (cltvDelta: number) => {
  const fields = { network: 'regtest', paymentHash: '01'.repeat(32), paymentSecret: '02'.repeat(32) } as const
  const times = { createdAt: 1_795_000_000_000, expirySeconds: 3600, cltvDelta, description: 'a payout' }
  const request = decodePaymentRequest(encodePaymentRequest({ ...fields, ...times, amountMsat: 1n }, new Uint8Array(32).fill(1)))
  if (!request) throw new Error('an encoded request must decode')
  return request
}

test('explainUnpayable returns undefined for an invoice that current nodes pay', () => {
  for (const cltvDelta of [18, 80, 1008]) expect(explainUnpayable(decodedWith(cltvDelta))).toBeUndefined()
  expect(explainUnpayable({ ...decodedWith(80), routeHints: 20 })).toBeUndefined()
})

test('an invoice without payment secret, with too many route hints or too large a CLTV delta is refused with a remedy', () => {
  const old = decodePaymentRequest(WITHOUT_SECRET)
  expect(old).toMatchObject({ hasPaymentSecret: false, amountMsat: 250_000_000n })
  expect(old && explainUnpayable(old)).toContain('no payment secret; make it with')
  expect(explainUnpayable({ ...decodedWith(80), routeHints: 21 })).toContain('21 route hints; make one with at most 20')
  expect(explainUnpayable(decodedWith(1009))).toContain('1009 blocks; make one with at most 1008')
})
