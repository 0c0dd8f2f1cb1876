import { EventEmitter } from 'node:events'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import type { LndConnection } from './connection.ts'
import { createPaymentsPort } from './payments.ts'

const request = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: 'ab'.repeat(32),
    paymentSecret: 'cd'.repeat(32),
    amountMsat: 4_000_000n,
    createdAt: 1_795_000_000_000,
    expirySeconds: 3600,
    cltvDelta: 40,
    description: 'a payout',
  },
  new Uint8Array(32).fill(1),
)
const TRACK_MS = 2500

/** An lnd that knows no payment, answers a lookup after TRACK_MS, and records the payments that it has to send. */
function node(afterSend?: (stream: EventEmitter) => void) {
  let now = 0
  const sent: unknown[] = []
  const call = (answer: (stream: EventEmitter) => void) => {
    const stream = Object.assign(new EventEmitter(), { cancel: () => undefined })
    setImmediate(() => answer(stream))
    return stream
  }
  const router = {
    trackPaymentV2: () =>
      call((stream) => {
        now += TRACK_MS
        if (afterSend && sent.length > 0) afterSend(stream)
        else stream.emit('error', { code: 5, details: "payment isn't initiated" })
      }),
    sendPaymentV2: (request: unknown) => {
      sent.push(request)
      return call((stream) => stream.emit('error', { code: 2, details: 'payment request must contain a payment address' }))
    },
  }
  const clock = { now: () => now, monotonicMs: () => now, sleep: () => new Promise<void>(() => undefined) }
  // Only the calls of a payment exist.
  const connection = {
    clock,
    lnd: () => ({ router }),
    ask: () => Promise.reject(new Fault('unexpected call')),
  } as unknown as LndConnection
  const node = createPaymentsPort(connection, () => Promise.reject(new Fault('unexpected call')))
  return { sent, pay: (notAfter: number) => node.pay(request, { maxFeeMsat: 1000n, timeoutMs: 60_000, notAfter }) }
}

test('a payment whose deadline passes during the lookup is not sent', async () => {
  const { sent, pay } = node()
  await expect(pay(TRACK_MS - 1)).rejects.toThrow(Fault)
  expect(sent).toEqual([])
})

test('a payment whose deadline has not passed after the lookup is sent', async () => {
  const { sent, pay } = node()
  await pay(TRACK_MS)
  expect(sent).toHaveLength(1)
})

test('a payment that lnd refuses and reports as not initiated has failed', async () => {
  expect(await node().pay(TRACK_MS)).toEqual({ state: 'failed', reason: 'refused' })
})

test('a payment that lnd refuses but does not report as not initiated throws', async () => {
  const { pay } = node((stream) => stream.emit('error', { code: 2, details: 'the database is locked' }))
  await expect(pay(TRACK_MS)).rejects.toThrow('the database is locked')
})

/** A payment of one part in the given state, in the format of lnd. */
const lndPayment = (status: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED', failure_reason = 'FAILURE_REASON_NONE') => ({
  creation_time_ns: '1795000000000000000',
  failure_reason,
  fee_msat: '7',
  htlcs: [
    {
      attempt_time_ns: '1795000000000000000',
      preimage: Buffer.alloc(32, 9),
      resolve_time_ns: status === 'IN_FLIGHT' ? '0' : '1795000001000000000',
      route: {
        hops: [
          {
            amt_to_forward_msat: '4000000',
            chan_id: `${(4n << 40n) + (1n << 16n)}`,
            expiry: 400,
            fee_msat: '7',
            pub_key: `02${'22'.repeat(32)}`,
            tlv_payload: true,
          },
        ],
        total_amt_msat: '4000007',
        total_fees_msat: '7',
        total_time_lock: 400,
      },
      status,
    },
  ],
  payment_hash: 'ab'.repeat(32),
  payment_index: '1',
  payment_preimage: '09'.repeat(32),
  payment_request: '',
  status,
  value_msat: '4000000',
  value_sat: '4000',
})

type LndPayment = ReturnType<typeof lndPayment>
/** Pays at an lnd that answers successive lookups with `lookups` and a send with `sends`. */
async function payAt(lookups: readonly (LndPayment | undefined)[], sends: LndPayment = lndPayment('SUCCEEDED')) {
  const remaining = [...lookups]
  const sent: { readonly fee_limit_msat?: string }[] = []
  const streamOf = (payment: LndPayment | undefined) => {
    const stream = Object.assign(new EventEmitter(), { cancel: () => undefined })
    const none = { code: 5, details: "payment isn't initiated" }
    setImmediate(() => (payment ? stream.emit('data', payment) : stream.emit('error', none)))
    return stream
  }
  const router = {
    trackPaymentV2: () => streamOf(remaining.shift()),
    sendPaymentV2: (request: { readonly fee_limit_msat?: string }) => {
      sent.push(request)
      return streamOf(sends)
    },
  }
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined) }
  // Only the calls of a payment exist.
  const connection = { clock, lnd: () => ({ router }) } as unknown as LndConnection
  const node = createPaymentsPort(connection, () => Promise.reject(new Fault('unexpected call')))
  return { outcome: await node.pay(request, { maxFeeMsat: 1234n, timeoutMs: 60_000, notAfter: 0 }), sent }
}
const succeeded = { state: 'succeeded', preimage: '09'.repeat(32), feeMsat: 7n } as const

test('a payment in flight is followed to its end and not sent again', async () => {
  expect(await payAt([lndPayment('IN_FLIGHT'), lndPayment('SUCCEEDED')])).toEqual({ outcome: succeeded, sent: [] })
})

test('a payment that succeeded before is not sent again', async () => {
  expect(await payAt([lndPayment('SUCCEEDED')])).toEqual({ outcome: succeeded, sent: [] })
})

test('each payment that is sent has the fee limit', async () => {
  for (const before of [undefined, lndPayment('FAILED', 'FAILURE_REASON_NO_ROUTE')]) {
    const { outcome, sent } = await payAt([before])
    expect(outcome).toEqual(succeeded)
    expect(sent).toMatchObject([{ fee_limit_msat: '1234' }])
  }
})

test.each([
  ['INCORRECT_PAYMENT_DETAILS', 'rejected-by-destination'],
  ['INSUFFICIENT_BALANCE', 'insufficient-balance'],
  ['TIMEOUT', 'timeout'],
  ['NO_ROUTE', 'no-route'],
])('a payment that lnd fails with FAILURE_REASON_%s has the reason %s', async (failure, reason) => {
  const { outcome } = await payAt([undefined], lndPayment('FAILED', `FAILURE_REASON_${failure}`))
  expect(outcome).toEqual({ state: 'failed', reason })
})
